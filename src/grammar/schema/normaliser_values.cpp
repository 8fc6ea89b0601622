#include <algorithm>

#include "grammar/schema/normaliser.h"
#include "grammar/schema/regex.h"
#include "grammar/string_formats.h"

namespace augur {

bool Normaliser::fits(const Conjunction& all, const Json& value) {
  const std::vector<Constraint>& alternatives = expand(all);
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const Constraint& one) { return meets(one, value); });
}

bool Normaliser::meets(const Constraint& constraint, const Json& value) {
  const Type type = type_of(value);
  const auto is_value = [&](const Json& one) { return same_value(one, value); };
  if ((constraint.types & type) == 0) return false;
  if (constraint.values && std::none_of(constraint.values->begin(), constraint.values->end(), is_value))
    return false;
  if (std::any_of(constraint.excluded.begin(), constraint.excluded.end(), is_value)) return false;
  if ((type & kNumber) != 0) {
    if (constraint.number.any()) return true;
    return number_texts(constraint.number, true, true).matches(text_of(decimal_of(value)));
  }
  if (type == kString) {
    const auto text = value.get<std::string>();
    return constraint.string.length.have(code_points(text).size()) &&
           (constraint.string.any() || texts_of(constraint.string).matches(text));
  }
  if (type == kArray) {
    const ArrayRules& rules = constraint.array;
    if (!rules.length.have(value.size())) return false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!fits(of_item(rules, i), value[i])) return false;
      for (std::size_t j = 0; rules.unique != nullptr && j < i; ++j) {
        if (same_value(value[i], value[j])) return false;
      }
    }
    return std::all_of(
        rules.contains.begin(), rules.contains.end(), [&](const ArrayRules::Contains& contains) {
          return contains.matches.have(std::count_if(
              value.begin(), value.end(), [&](const Json& item) { return fits({contains.what}, item); }));
        });
  }
  if (type == kObject) {
    const ObjectRules& rules = constraint.object;
    if (!rules.count.have(value.size())) return false;
    if (!std::all_of(rules.required.begin(), rules.required.end(),
                     [&](const std::string& name) { return value.contains(name); })) {
      return false;
    }
    for (const auto& [name, member] : value.items()) {
      if (!fits(rules.names, name) || !fits(of_member(rules, name), member)) return false;
    }
    return std::all_of(rules.others.begin(), rules.others.end(), [&](const ObjectRules::Other& other) {
      return std::any_of(value.items().begin(), value.items().end(), [&](const auto& member) {
        return std::find(other.than.begin(), other.than.end(), member.key()) == other.than.end() &&
               fits({other.holds}, member.value());
      });
    });
  }
  return true;
}

const Automaton& Normaliser::texts_of_pattern(const std::string& pattern) {
  if (const auto found = patterns_.find(pattern); found != patterns_.end()) return found->second;
  const Automaton& texts = patterns_.emplace(pattern, texts_with_match(parse_regex(pattern))).first->second;
  held_.add(texts.bytes());
  return texts;
}

Automaton Normaliser::texts_of(const StringRules& rules) {
  Automaton texts = every_text();
  for (const std::string& pattern : rules.patterns) texts = intersection(texts, texts_of_pattern(pattern));
  for (const std::string& name : rules.formats)
    texts = intersection(texts, texts_of_pattern(*pattern_of_format(name)));
  for (const std::string& pattern : rules.not_patterns) texts = difference(texts, texts_of_pattern(pattern));
  if (!rules.length.any())
    texts = intersection(texts, texts_of_length(rules.length.least, rules.length.most));
  return texts;
}

}  // namespace augur
