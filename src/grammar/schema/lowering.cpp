#include "grammar/schema/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "grammar/work_meter.h"

namespace augur {
namespace {

constexpr std::size_t kFewStates = 64;  ///< up to which an automaton is better than counting

}  // namespace

Lowering::Lowering(Normaliser& normaliser, const SchemaOptions& options)
    : normaliser_(normaliser),
      options_(options),
      json_(text_, options.most_whitespace),
      texts_(text_, json_) {}

void Lowering::refuse(const std::string& what) const {
  throw Error(ErrorKind::Unsupported, "JSON schema: {}{}",
              place_ == nullptr ? "#" : normaliser_.document().place(place_), what);
}

PiecePtr Lowering::rule_of(PiecePtr body) {
  const int rule = text_.add_rule();
  text_.define(rule, std::move(body));
  return reference(rule);
}

std::string Lowering::grammar_of(const Conjunction& all) {
  const int root = text_.add_rule();
  text_.define(root, of(all));
  return text_.print(root);
}

PiecePtr Lowering::of(const Conjunction& literals) {
  spend_steps(512);
  const Conjunction all = normaliser_.resolved(literals);
  if (const auto found = known_.find(all); found != known_.end()) return reference(found->second);
  const int rule = text_.add_rule();
  known_.emplace(all, rule);
  const Json* const outer = place_;
  if (!all.empty()) place_ = all[0].schema;
  std::vector<PiecePtr> alternatives;
  for (const Constraint& one : normaliser_.expand(all)) alternatives.push_back(of_constraint(one));
  text_.define(rule, choice(std::move(alternatives)));
  place_ = outer;
  return reference(rule);
}

PiecePtr Lowering::of_value(const Json& value) {
  std::string text;
  const std::function<void(const Json&)> write = [&](const Json& one) {
    if (one.is_number()) {
      const Decimal decimal = decimal_of(one);
      const std::string digits = text_of(decimal);
      text += digits.size() > 25 ? one.dump() : digits;
    } else if (one.is_array() || one.is_object()) {
      text += one.is_array() ? '[' : '{';
      bool first = true;
      for (const auto& [key, inner] : one.items()) {
        if (!std::exchange(first, false)) text += ',';
        if (one.is_object()) text += Json(key).dump() + ":";
        write(inner);
      }
      text += one.is_array() ? ']' : '}';
    } else {
      text += one.dump();
    }
  };
  write(value);
  return literal(text);
}

PiecePtr Lowering::of_constraint(const Constraint& constraint) {
  std::vector<PiecePtr> ways;
  if (constraint.values) {
    for (const Json& value : *constraint.values) ways.push_back(of_value(value));
    return choice(std::move(ways));
  }
  const auto excluded = [&](const Json& value) {
    return std::any_of(constraint.excluded.begin(), constraint.excluded.end(),
                       [&](const Json& one) { return same_value(one, value); });
  };
  const bool free = constraint.excluded.empty() && constraint.number.any() && constraint.string.any() &&
                    constraint.array.any() && constraint.object.any();
  if (free && constraint.types == kEveryType) return reference(json_.any_rule);
  if ((constraint.types & kNumber) != 0) ways.push_back(of_number(constraint));
  if ((constraint.types & kString) != 0) ways.push_back(of_string(constraint));
  if ((constraint.types & kTrue) != 0 && !excluded(true)) ways.push_back(literal("true"));
  if ((constraint.types & kFalse) != 0 && !excluded(false)) ways.push_back(literal("false"));
  if ((constraint.types & kNull) != 0 && !excluded(nullptr)) ways.push_back(literal("null"));
  if ((constraint.types & kArray) != 0) ways.push_back(of_array(constraint));
  if ((constraint.types & kObject) != 0) ways.push_back(of_object(constraint));
  return choice(std::move(ways));
}

PiecePtr Lowering::of_number(const Constraint& constraint) {
  std::vector<Decimal> excluded;
  for (const Json& value : constraint.excluded) {
    if ((type_of(value) & constraint.types & kNumber) != 0) excluded.push_back(decimal_of(value));
  }
  const bool integers = (constraint.types & kInteger) != 0, fractions = (constraint.types & kFraction) != 0;
  if (constraint.number.any() && excluded.empty() && integers)
    return reference(fractions ? json_.number_rule : json_.integer_rule);
  try {
    Automaton texts = number_texts(constraint.number, integers, fractions);
    for (const Decimal& value : excluded) texts = difference(texts, texts_of_number(value));
    return texts_.of_automaton(texts, false);
  } catch (const AutomatonTooLarge&) {
    refuse(" asks for numbers in a way that is too large to be enforced");
  } catch (const Error& error) {
    refuse(fmt::format("/multipleOf {}", error.what()));
  }
}

PiecePtr Lowering::of_string(const Constraint& constraint) {
  std::vector<std::string> excluded;
  for (const Json& value : constraint.excluded) {
    if (value.is_string()) excluded.push_back(value.get<std::string>());
  }
  if (constraint.string.any() && excluded.empty()) return reference(json_.string_rule);
  return sequence({literal("\""), string_body(constraint.string, excluded)});
}

PiecePtr Lowering::string_body(const StringRules& rules, const std::vector<std::string>& excluded) {
  const bool only_length = rules.patterns.empty() && rules.not_patterns.empty() && rules.formats.empty();
  if (only_length && excluded.empty()) {
    return sequence(
        {repeat(reference(json_.character_rule), rules.length.least, rules.length.most), literal("\"")});
  }
  std::optional<Automaton> texts;
  try {
    texts = normaliser_.texts_of(rules);
    for (const std::string& text : excluded) texts = difference(*texts, one_text(text));
  } catch (const AutomatonTooLarge&) {
  }
  if (!texts || texts->states.size() > kFewStates) {
    if (PiecePtr piece = excluded.empty() ? texts_.counted(rules) : nullptr) return piece;
  }
  if (!texts) refuse("/pattern is too large to be enforced beside what else is said of the string");
  return texts_.of_automaton(*texts, true);
}

}  // namespace augur
