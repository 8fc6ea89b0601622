#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "grammar/schema/lowering.h"

namespace augur {
namespace {

constexpr std::size_t kMostPatterns = 6;  ///< of names, in one object: each doubles the classes of names

}  // namespace

Automaton Lowering::texts_of_names(const Conjunction& names) {
  Automaton all;
  for (const Constraint& one : normaliser_.expand(names)) {
    if ((one.types & kString) == 0) continue;
    Automaton texts;
    if (one.values) {
      for (const Json& value : *one.values) {
        if (value.is_string()) texts = united(texts, one_text(value.get<std::string>()));
      }
    } else {
      texts = normaliser_.texts_of(one.string);
      for (const Json& value : one.excluded) {
        if (value.is_string()) texts = difference(texts, one_text(value.get<std::string>()));
      }
    }
    all = united(all, texts);
  }
  return all;
}

std::vector<Lowering::NameClass> Lowering::further_names(const ObjectRules& rules,
                                                         const std::vector<std::string>& known) {
  std::vector<std::string> patterns;
  bool named = false, rest = !rules.names.empty();
  for (const ObjectRules::Layer& layer : rules.layers) {
    named = named || !layer.named.empty();
    rest = rest || layer.rest || !layer.patterns.empty();
    for (const auto& [pattern, literal] : layer.patterns) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
  }
  if (options_.named_members_only && named && !rest) return {};
  if (patterns.size() > kMostPatterns) {
    refuse(fmt::format("/patternProperties is enforced up to {} patterns", kMostPatterns));
  }
  try {
    Automaton free = rules.names.empty() ? every_text() : texts_of_names(rules.names);
    std::vector<NameClass> classes;
    const auto value_of = [&](unsigned matched) {
      Conjunction value;
      for (const ObjectRules::Layer& layer : rules.layers) {
        bool any = false;
        for (const auto& [pattern, literal] : layer.patterns) {
          const auto at = std::find(patterns.begin(), patterns.end(), pattern) - patterns.begin();
          if ((matched >> at & 1) == 0) continue;
          add(value, literal);
          any = true;
        }
        if (!any && layer.rest) add(value, *layer.rest);
      }
      return value;
    };
    const auto impossible = [](const Conjunction& value) {
      return std::any_of(value.begin(), value.end(), [](const Literal& one) {
        return one.schema->is_boolean() && one.schema->get<bool>() != one.holds;
      });
    };
    std::optional<Automaton> unnamed;
    for (unsigned matched = 0; matched < 1u << patterns.size(); ++matched) {
      Conjunction value = value_of(matched);
      std::erase(value, Literal{&kAnySchema, true});
      std::erase_if(value, [](const Literal& one) {
        return one.schema->is_boolean() && one.schema->get<bool>() == one.holds;
      });
      if (impossible(value)) continue;
      if (!unnamed) {
        unnamed = free;
        Automaton names;
        for (const std::string& name : known) names = united(names, one_text(name));
        unnamed = difference(free, names);
      }
      Automaton texts = *unnamed;
      for (std::size_t i = 0; i < patterns.size() && !texts.empty(); ++i) {
        const Automaton& pattern = normaliser_.texts_of_pattern(patterns[i]);
        texts = (matched >> i & 1) != 0 ? intersection(texts, pattern) : difference(texts, pattern);
      }
      if (texts.empty()) continue;
      const auto same = std::find_if(classes.begin(), classes.end(),
                                     [&](const NameClass& one) { return one.value == value; });
      if (same == classes.end()) {
        classes.push_back({std::move(texts), std::move(value)});
      } else {
        same->names = united(same->names, texts);
      }
    }
    return classes;
  } catch (const AutomatonTooLarge&) {
    refuse(" names properties in a way that is too large to be enforced");
  }
}

}  // namespace augur
