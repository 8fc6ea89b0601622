#include "grammar/schema/normaliser.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "grammar/work_meter.h"

namespace augur {

const Json kAnySchema = true;
const Json kNoSchema = false;

namespace {

constexpr std::size_t kMostSteps = 50000;
constexpr std::size_t kMostAlternatives = 512;

}  // namespace

const std::vector<Constraint>& Normaliser::expand(const Conjunction& all) {
  if (const auto found = known_.find(all); found != known_.end()) return found->second;
  State state;
  const std::vector<const Json*> outer = std::exchange(reading_, {});
  for (const Literal& literal : all) read(literal, state);
  std::vector<Constraint> results;
  solve(std::move(state), results);
  reading_ = outer;
  return known_.emplace(all, std::move(results)).first->second;
}

void Normaliser::solve(State state, std::vector<Constraint>& results) {
  spend_steps(256);
  if (++steps_ > kMostSteps || results.size() > kMostAlternatives) {
    throw Error(ErrorKind::Unsupported, "JSON schema: its alternatives combine to too many");
  }
  Constraint& own = state.own;
  if (own.string.length.contradictory()) own.types &= ~unsigned{kString};
  if (own.array.length.contradictory()) own.types &= ~unsigned{kArray};
  if (own.object.count.contradictory()) own.types &= ~unsigned{kObject};
  if (own.number.contradictory()) own.types &= ~unsigned{kNumber};
  if (state.failed || own.types == 0) return;
  if (own.values) {
    std::erase_if(*own.values, [&](const Json& value) { return (type_of(value) & own.types) == 0; });
    if (own.values->empty()) return;
  }
  if (!state.choices.empty()) {
    const Choice choice = std::move(state.choices.back());
    state.choices.pop_back();
    choose(state, choice, results);
    return;
  }
  if (own.values) {
    std::erase_if(*own.values, [&](const Json& value) { return !meets(own, value); });
    if (own.values->empty()) return;
  }
  own.held.add(own.bytes());
  results.push_back(std::move(own));
}

void Normaliser::choose(const State& state, const Choice& choice, std::vector<Constraint>& results) {
  const Choice resolved = choice.one_of != nullptr ? exactly_one(state, choice) : choice;
  for (const Branch& branch : resolved.branches) {
    State next = state;
    next.own.meet(branch.own);
    if (next.own.types == 0) continue;
    for (const Literal& literal : branch.also) {
      read(literal, next);
      if (next.failed || next.own.types == 0) break;
    }
    solve(std::move(next), results);
  }
}

/// Of alternatives that may both hold, one excludes the other where the exclusion can be written.
Normaliser::Choice Normaliser::exactly_one(const State& state, const Choice& choice) {
  Choice result;
  for (std::size_t i = 0; i < choice.branches.size(); ++i) {
    Branch branch = choice.branches[i];
    const Literal mine = branch.also[0];
    for (std::size_t j = 0; j < choice.branches.size(); ++j) {
      const Literal other = choice.branches[j].also[0];
      if (i == j || apart(mine, other, state.own)) continue;
      branch.also.push_back({other.schema, !other.holds});
    }
    result.branches.push_back(std::move(branch));
  }
  return result;
}

/// A recursive schema asks for what is being found out; then it is taken not to be so.
bool Normaliser::apart(const Literal& a, const Literal& b, const Constraint& context) {
  const Conjunction pair = {a, b};
  if (std::find(comparing_.begin(), comparing_.end(), pair) != comparing_.end()) return false;
  comparing_.push_back(pair);
  const bool result = surely_apart(pair, context);
  comparing_.pop_back();
  return result;
}

bool Normaliser::surely_apart(const Conjunction& pair, const Constraint& context) {
  const std::vector<Constraint>* both = nullptr;
  try {
    both = &expand(pair);
  } catch (const Error&) {
    return false;  // who excludes one of them says what cannot be enforced
  }
  return std::all_of(both->begin(), both->end(), [&](Constraint one) {
    one.meet(context);
    return hopeless(std::move(one), 2);
  });
}

bool Normaliser::hopeless(const Conjunction& all, int depth) {
  const std::vector<Constraint>& alternatives = expand(all);
  return std::all_of(alternatives.begin(), alternatives.end(),
                     [&](const Constraint& one) { return hopeless(one, depth); });
}

bool Normaliser::hopeless(Constraint constraint, int depth) {
  unsigned types = constraint.types;
  if (constraint.values) {
    std::vector<Json>& values = *constraint.values;
    std::erase_if(values, [&](const Json& value) {
      return (type_of(value) & types) == 0 || !meets(constraint, value);
    });
    return values.empty();
  }
  if (constraint.string.length.contradictory()) types &= ~unsigned{kString};
  if (constraint.array.length.contradictory()) types &= ~unsigned{kArray};
  if (constraint.object.count.contradictory()) types &= ~unsigned{kObject};
  if (constraint.number.contradictory()) types &= ~unsigned{kNumber};
  if ((types & kString) != 0 && !constraint.string.any()) {
    try {
      if (texts_of(constraint.string).empty()) types &= ~unsigned{kString};
    } catch (const AutomatonTooLarge&) {
    }
  }
  if (depth > 0 && (types & kObject) != 0) {
    for (const std::string& name : constraint.object.required) {
      if (hopeless(of_member(constraint.object, name), depth - 1)) {
        types &= ~unsigned{kObject};
        break;
      }
    }
  }
  if (depth > 0 && (types & kArray) != 0) {
    for (int i = 0; i < std::min(constraint.array.length.least, 16); ++i) {
      if (hopeless(of_item(constraint.array, i), depth - 1)) types &= ~unsigned{kArray};
    }
  }
  return types == 0;
}

Conjunction Normaliser::resolved(const Conjunction& all) {
  Conjunction result;
  for (Literal literal : all) {
    for (int hops = 0; hops < 64 && literal.schema->is_object(); ++hops) {
      const auto found = literal.schema->find("$ref");
      if (found == literal.schema->end() || !found->is_string()) break;
      const bool alone =
          document_.draft() <= Draft::Seven ||
          std::all_of(literal.schema->items().begin(), literal.schema->items().end(),
                      [](const auto& one) { return one.key() == "$ref" || !asserts(one.key()); });
      if (!alone) break;
      literal.schema = target(*literal.schema, "$ref");
    }
    const bool nothing = literal.holds && (*literal.schema == true ||
                                           (literal.schema->is_object() && literal.schema->empty()));
    if (!nothing) add(result, literal);
  }
  return result;
}

Conjunction Normaliser::of_item(const ArrayRules& rules, std::size_t at) {
  Conjunction all;
  for (const ArrayRules::Layer& layer : rules.layers) {
    if (at < layer.prefix.size()) {
      add(all, layer.prefix[at]);
    } else if (layer.rest) {
      add(all, *layer.rest);
    }
  }
  return all;
}

std::size_t Normaliser::prefix_length(const ArrayRules& rules) {
  std::size_t length = 0;
  for (const ArrayRules::Layer& layer : rules.layers) length = std::max(length, layer.prefix.size());
  return length;
}

Conjunction Normaliser::of_further_items(const ArrayRules& rules) {
  return of_item(rules, prefix_length(rules));
}

Conjunction Normaliser::of_member(const ObjectRules& rules, const std::string& name) {
  Conjunction all;
  for (const ObjectRules::Layer& layer : rules.layers) {
    bool known = false;
    for (const auto& [one, literal] : layer.named) {
      if (one != name) continue;
      add(all, literal);
      known = true;
    }
    for (const auto& [pattern, literal] : layer.patterns) {
      if (!texts_of_pattern(pattern).matches(name)) continue;
      add(all, literal);
      known = true;
    }
    if (!known && layer.rest) add(all, *layer.rest);
  }
  return all;
}

}  // namespace augur
