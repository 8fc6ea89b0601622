#include "grammar/schema/normaliser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.h"
#include "grammar/schema/regex.h"
#include "grammar/string_formats.h"

namespace augur {

const Json kAnySchema = true;
const Json kNoSchema = false;

namespace {

constexpr double kLongest = 10000;  ///< of lengths and counts
constexpr std::size_t kMostSteps = 50000;
constexpr std::size_t kMostAlternatives = 512;

}  // namespace

void Normaliser::refuse(const Json& schema, std::string_view key, std::string_view why) const {
  throw Error("JSON schema: {}/{} {}", document_.place(&schema), key, why);
}

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
    throw Error("JSON schema: its alternatives combine to too many");
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

// --- what holds ---

void Normaliser::read(const Literal& literal, State& state) {
  if (std::find(state.seen.begin(), state.seen.end(), literal) != state.seen.end()) {
    if (std::find(reading_.begin(), reading_.end(), literal.schema) != reading_.end()) {
      throw Error("JSON schema: {} refers to itself and says nothing else", document_.place(literal.schema));
    }
    return;
  }
  const Literal opposite{literal.schema, !literal.holds};
  if (std::find(state.seen.begin(), state.seen.end(), opposite) != state.seen.end()) {
    state.failed = true;
    return;
  }
  state.seen.push_back(literal);
  if (literal.schema->is_boolean()) {
    if (literal.schema->get<bool>() != literal.holds) state.failed = true;
    return;
  }
  if (!literal.schema->is_object())
    throw Error("JSON schema: {} is to be an object", document_.place(literal.schema));
  if (!literal.holds) {
    state.choices.push_back(negated(*literal.schema));
    return;
  }
  reading_.push_back(literal.schema);
  read_schema(*literal.schema, state);
  reading_.pop_back();
}

void Normaliser::read_schema(const Json& schema, State& state) {
  if (document_.draft() <= Draft::Seven && schema.contains("$ref") && schema["$ref"].is_string()) {
    read({target(schema, "$ref"), true}, state);
    return;
  }
  bool members = false, items = false;
  for (const auto& [key, value] : schema.items()) {
    if (key == "properties" || key == "patternProperties" || key == "additionalProperties") {
      if (!std::exchange(members, true)) read_object(schema, state);
    } else if (key == "items" || key == "prefixItems" || key == "additionalItems") {
      if (!std::exchange(items, true)) read_array(schema, state);
    } else if (!read_in_place(schema, key, value, state)) {
      read_keyword(schema, key, value, state);
    }
  }
  if (document_.draft() >= Draft::Nineteen &&
      (schema.contains("unevaluatedProperties") || schema.contains("unevaluatedItems"))) {
    read_unevaluated(schema, state);
  }
}

/// What applies to the value itself. False: the keyword is none of these.
bool Normaliser::read_in_place(const Json& schema, const std::string& key, const Json& value, State& state) {
  if (key == "$ref" || key == "$recursiveRef" || key == "$dynamicRef") {
    read({target(schema, key), true}, state);
  } else if (key == "allOf") {
    for (const Json& one : value) read({&one, true}, state);
  } else if (key == "anyOf" || key == "oneOf") {
    Choice choice;
    for (const Json& one : value) choice.branches.push_back({{}, {{&one, true}}});
    if (key == "oneOf" && value.size() > 1) choice.one_of = &schema;
    if (value.size() == 1) {
      read({&value[0], true}, state);
    } else {
      state.choices.push_back(std::move(choice));
    }
  } else if (key == "not") {
    read({&value, false}, state);
  } else if (key == "if") {
    if (document_.draft() < Draft::Seven || (!schema.contains("then") && !schema.contains("else")))
      return true;
    const Json* const then = schema.contains("then") ? &schema["then"] : &kAnySchema;
    const Json* const otherwise = schema.contains("else") ? &schema["else"] : &kAnySchema;
    state.choices.push_back(
        {{{{}, {{&value, true}, {then, true}}}, {{}, {{&value, false}, {otherwise, true}}}}, nullptr});
  } else if (key == "dependentRequired" || key == "dependentSchemas" || key == "dependencies") {
    if (document_.draft() < Draft::Nineteen && key != "dependencies") return true;
    if (!value.is_object()) refuse(schema, key, "is to be an object");
    for (const auto& [name, needs] : value.items()) {
      Branch with;
      with.own.types = kObject;
      with.own.object.required = {name};
      if (needs.is_array()) {
        for (const Json& other : needs) {
          if (!other.is_string()) refuse(schema, key, "is to hold lists of names");
          with.own.object.required.push_back(other.get<std::string>());
        }
      } else if (needs.is_string()) {
        with.own.object.required.push_back(needs.get<std::string>());
      } else {
        with.also.push_back({&needs, true});
      }
      Branch without = absent(name);
      without.own.types = kEveryType;
      state.choices.push_back({{std::move(without), std::move(with)}, nullptr});
    }
  } else {
    return false;
  }
  return true;
}

/// A constraint that only objects without a member of the name keep; of other types nothing is said.
Normaliser::Branch Normaliser::absent(const std::string& name) {
  Branch branch;
  branch.own.types = kObject;
  branch.own.object.layers.push_back({{{name, {&kNoSchema, true}}}, {}, std::nullopt});
  return branch;
}

void Normaliser::read_keyword(const Json& schema, const std::string& key, const Json& value, State& state) {
  Constraint& own = state.own;
  if (key == "type") {
    own.types &= types_of(schema, value);
  } else if (key == "enum") {
    if (!value.is_array() || value.empty()) refuse(schema, key, "is to be a list that is not empty");
    Constraint one;
    one.values.emplace(value.begin(), value.end());
    own.meet(one);
  } else if (key == "const") {
    if (document_.draft() < Draft::Six) return;
    Constraint one;
    one.values.emplace(1, value);
    own.meet(one);
  } else if (key == "minimum" || key == "exclusiveMinimum") {
    bool applies = true;
    const Bound least = bound(schema, key, value, applies);
    if (applies) own.number.raise(least);
  } else if (key == "maximum" || key == "exclusiveMaximum") {
    bool applies = true;
    const Bound most = bound(schema, key, value, applies);
    if (applies) own.number.lower(most);
  } else if (key == "multipleOf") {
    if (!value.is_number() || value.get<double>() <= 0) refuse(schema, key, "is to be a number above 0");
    own.number.multiples_of.push_back(decimal_of(value));
  } else if (key == "minLength" || key == "maxLength") {
    own.string.length.meet(counts(schema, key, value));
  } else if (key == "pattern") {
    if (!value.is_string()) refuse(schema, key, "is to be a string");
    try {
      texts_of_pattern(value.get<std::string>());
    } catch (const Error& error) {
      refuse(schema, key, fmt::format("cannot be enforced: {}", error.what()));
    } catch (const AutomatonTooLarge&) {
    }
    own.string.patterns.push_back(value.get<std::string>());
  } else if (key == "format") {
    if (!value.is_string()) refuse(schema, key, "is to be a string");
    const auto name = value.get<std::string>();
    if (!known_format(name)) return;
    if (!pattern_of_format(name)) {
      if ((own.types & kString) != 0) refuse(schema, key, "is none that can be enforced");
      return;
    }
    own.string.formats.push_back(name);
  } else if (key == "minItems" || key == "maxItems") {
    own.array.length.meet(counts(schema, key, value));
  } else if (key == "uniqueItems") {
    if (!value.is_boolean()) refuse(schema, key, "is to be true or false");
    if (value.get<bool>()) own.array.unique = &schema;
  } else if (key == "contains") {
    if (document_.draft() < Draft::Six) return;
    Counts matches{1, kWithoutEnd};
    if (document_.draft() >= Draft::Nineteen) {
      if (schema.contains("minContains"))
        matches.least = counts(schema, "minContains", schema["minContains"]).most;
      if (schema.contains("maxContains"))
        matches.most = counts(schema, "maxContains", schema["maxContains"]).most;
    }
    if (!matches.any()) own.array.contains.push_back({{&value, true}, matches});
  } else if (key == "required") {
    if (!value.is_array()) {
      if (document_.draft() == Draft::Four && value.is_boolean()) return;  // draft 3's
      refuse(schema, key, "is to be a list of names");
    }
    for (const Json& name : value) {
      if (!name.is_string()) refuse(schema, key, "is to be a list of names");
      const auto text = name.get<std::string>();
      auto& names = own.object.required;
      if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
    }
  } else if (key == "minProperties" || key == "maxProperties") {
    own.object.count.meet(counts(schema, key, value));
  } else if (key == "propertyNames") {
    if (document_.draft() >= Draft::Six) add(own.object.names, {&value, true});
  }
}

void Normaliser::read_object(const Json& schema, State& state) {
  ObjectRules::Layer layer;
  if (schema.contains("properties")) {
    for (const auto& [name, one] : schema["properties"].items()) layer.named.push_back({name, {&one, true}});
  }
  if (schema.contains("patternProperties")) {
    for (const auto& [pattern, one] : schema["patternProperties"].items()) {
      try {
        texts_of_pattern(pattern);
      } catch (const Error& error) {
        refuse(schema, "patternProperties", fmt::format("cannot be enforced: {}", error.what()));
      } catch (const AutomatonTooLarge&) {
        refuse(schema, "patternProperties", fmt::format("has a pattern that is too large: {}", pattern));
      }
      layer.patterns.push_back({pattern, {&one, true}});
    }
  }
  if (schema.contains("additionalProperties")) layer.rest = Literal{&schema["additionalProperties"], true};
  state.own.object.layers.push_back(std::move(layer));
}

void Normaliser::read_array(const Json& schema, State& state) {
  ArrayRules::Layer layer;
  if (schema.contains("prefixItems") && document_.draft() == Draft::Twenty) {
    for (const Json& one : schema["prefixItems"]) layer.prefix.push_back({&one, true});
  }
  if (schema.contains("items")) {
    const Json& items = schema["items"];
    if (items.is_array()) {
      for (const Json& one : items) layer.prefix.push_back({&one, true});
      if (schema.contains("additionalItems")) layer.rest = Literal{&schema["additionalItems"], true};
    } else {
      layer.rest = Literal{&items, true};
    }
  }
  if (!layer.prefix.empty() || layer.rest) state.own.array.layers.push_back(std::move(layer));
}

/// Whether what the schema and those it is joined with evaluate is known without looking at a value.
bool Normaliser::gather(const Json& schema, ObjectRules::Layer& members, ArrayRules::Layer& items,
                        bool& all_members, bool& all_items, int depth) {
  if (!schema.is_object()) return true;
  if (depth > 32) return false;
  for (const char* key :
       {"anyOf", "oneOf", "if", "dependentSchemas", "contains", "$dynamicRef", "$recursiveRef"}) {
    if (schema.contains(key)) return false;
  }
  if (schema.contains("properties")) {
    for (const auto& [name, one] : schema["properties"].items())
      members.named.push_back({name, {&kAnySchema, true}});
  }
  if (schema.contains("patternProperties")) {
    for (const auto& [pattern, one] : schema["patternProperties"].items()) {
      members.patterns.push_back({pattern, {&kAnySchema, true}});
    }
  }
  if (schema.contains("additionalProperties")) all_members = true;
  if (schema.contains("items") && !schema["items"].is_array()) all_items = true;
  for (const char* key : {"prefixItems", "items"}) {
    if (!schema.contains(key) || !schema[key].is_array()) continue;
    while (items.prefix.size() < schema[key].size()) items.prefix.push_back({&kAnySchema, true});
    if (schema.contains("additionalItems") && std::string_view(key) == "items") all_items = true;
  }
  if (depth > 0) {
    all_members = all_members || schema.contains("unevaluatedProperties");
    all_items = all_items || schema.contains("unevaluatedItems");
  }
  if (schema.contains("$ref") &&
      !gather(*target(schema, "$ref"), members, items, all_members, all_items, depth + 1)) {
    return false;
  }
  if (!schema.contains("allOf")) return true;
  return std::all_of(schema["allOf"].begin(), schema["allOf"].end(), [&](const Json& one) {
    return gather(one, members, items, all_members, all_items, depth + 1);
  });
}

void Normaliser::read_unevaluated(const Json& schema, State& state) {
  ObjectRules::Layer members;
  ArrayRules::Layer items;
  bool all_members = false, all_items = false;
  const char* const key =
      schema.contains("unevaluatedProperties") ? "unevaluatedProperties" : "unevaluatedItems";
  if (schema[key] == true) return;
  if (!gather(schema, members, items, all_members, all_items, 0)) {
    refuse(schema, key, "is not enforced beside keywords whose outcome depends on the value");
  }
  if (schema.contains("unevaluatedProperties") && !all_members) {
    members.rest = Literal{&schema["unevaluatedProperties"], true};
    state.own.object.layers.push_back(std::move(members));
  }
  if (schema.contains("unevaluatedItems") && !all_items) {
    items.rest = Literal{&schema["unevaluatedItems"], true};
    state.own.array.layers.push_back(std::move(items));
  }
}

// --- what does not hold ---

/// The ways in which a value does not fit: one of the keywords does not hold of it.
Normaliser::Choice Normaliser::negated(const Json& schema) {
  Choice choice;
  if (document_.draft() <= Draft::Seven && schema.contains("$ref") && schema["$ref"].is_string()) {
    choice.branches.push_back({{}, {{target(schema, "$ref"), false}}});
    return choice;
  }
  for (const auto& [key, value] : schema.items()) negate_keyword(schema, key, value, choice);
  negate_members(schema, choice);
  negate_items(schema, choice);
  return choice;
}

void Normaliser::negate_keyword(const Json& schema, const std::string& key, const Json& value,
                                Choice& choice) {
  State holds;  // what the keyword says by itself
  Branch branch;
  const auto also = [&](const Json& other, bool it_holds) { branch.also.push_back({&other, it_holds}); };
  const auto done = [&] { choice.branches.push_back(std::move(branch)); };
  if (key == "$ref" || key == "$recursiveRef" || key == "$dynamicRef") {
    branch.also = {{target(schema, key), false}};
    done();
  } else if (key == "allOf") {
    for (const Json& one : value) choice.branches.push_back({{}, {{&one, false}}});
  } else if (key == "anyOf" || key == "oneOf") {
    for (const Json& one : value) also(one, false);
    done();
    for (std::size_t i = 0; key == "oneOf" && i < value.size(); ++i) {
      for (std::size_t j = i + 1; j < value.size(); ++j) {
        choice.branches.push_back({{}, {{&value[i], true}, {&value[j], true}}});
      }
    }
  } else if (key == "not") {
    also(value, true);
    done();
  } else if (key == "if") {
    if (document_.draft() < Draft::Seven) return;
    if (schema.contains("then")) choice.branches.push_back({{}, {{&value, true}, {&schema["then"], false}}});
    if (schema.contains("else")) choice.branches.push_back({{}, {{&value, false}, {&schema["else"], false}}});
  } else if (key == "dependentRequired" || key == "dependentSchemas" || key == "dependencies") {
    if (document_.draft() < Draft::Nineteen && key != "dependencies") return;
    for (const auto& [name, needs] : value.items()) {
      if (needs.is_array()) {
        for (const Json& other : needs) {
          Branch one = absent(other.get<std::string>());
          one.own.object.required = {name};
          choice.branches.push_back(std::move(one));
        }
      } else {
        Branch one;
        one.own.types = kObject;
        one.own.object.required = {name};
        one.also = {{&needs, false}};
        choice.branches.push_back(std::move(one));
      }
    }
  } else if (key == "type") {
    branch.own.types = kEveryType & ~types_of(schema, value);
    if (branch.own.types != 0) done();
  } else if (key == "enum" || key == "const") {
    if (key == "enum") {
      branch.own.excluded.assign(value.begin(), value.end());
    } else {
      branch.own.excluded.push_back(value);
    }
    done();
  } else if (key == "required") {
    if (!value.is_array()) return;
    for (const Json& name : value) choice.branches.push_back(absent(name.get<std::string>()));
  } else if (key == "minimum" || key == "exclusiveMinimum" || key == "maximum" || key == "exclusiveMaximum") {
    bool applies = true;
    Bound at = bound(schema, key, value, applies);
    if (!applies) return;
    at.open = !at.open;
    branch.own.types = kNumber;
    if (key.ends_with("inimum")) {
      branch.own.number.lower(at);
    } else {
      branch.own.number.raise(at);
    }
    done();
  } else if (key == "multipleOf") {
    branch.own.types = kNumber;
    branch.own.number.not_multiples_of = {decimal_of(value)};
    done();
  } else if (key.starts_with("min") || key.starts_with("max")) {
    const bool string = key.ends_with("Length"), array = key.ends_with("Items"),
               object = key.ends_with("Properties");
    if (!string && !array && !object) return;
    const int count = std::max(counts(schema, key, value).least, counts(schema, key, value).most);
    Counts other;
    if (key.starts_with("min")) {
      if (count == 0) return;
      other.most = count - 1;
    } else {
      other.least = count + 1;
    }
    branch.own.types = string ? kString : array ? kArray : kObject;
    (string ? branch.own.string.length : array ? branch.own.array.length : branch.own.object.count) = other;
    done();
  } else if (key == "pattern") {
    read_keyword(schema, key, value, holds);  // refuses what is no pattern
    branch.own.types = kString;
    branch.own.string.not_patterns = holds.own.string.patterns;
    done();
  } else if (key == "contains") {
    if (document_.draft() < Draft::Six) return;
    if (schema.contains("minContains") || schema.contains("maxContains"))
      refuse(schema, key, "is not enforced under not");
    branch.own.types = kArray;
    branch.own.array.layers.push_back({{}, Literal{&value, false}});
    done();
  } else if (key == "format") {
    if (value.is_string() && known_format(value.get<std::string>()))
      refuse(schema, key, "is not enforced under not");
  } else if (key == "uniqueItems") {
    if (value == true) refuse(schema, key, "is not enforced under not");
  } else if (key == "propertyNames" || key == "unevaluatedProperties" || key == "unevaluatedItems") {
    if (value != true) refuse(schema, key, "is not enforced under not");
  }
}

void Normaliser::negate_members(const Json& schema, Choice& choice) {
  if (schema.contains("properties")) {
    for (const auto& [name, one] : schema["properties"].items()) {
      if (one == true || (one.is_object() && one.empty())) continue;
      Branch branch;
      branch.own.types = kObject;
      branch.own.object.required = {name};
      branch.own.object.layers.push_back({{{name, {&one, false}}}, {}, std::nullopt});
      choice.branches.push_back(std::move(branch));
    }
  }
  for (const char* key : {"patternProperties", "additionalProperties"}) {
    if (!schema.contains(key)) continue;
    const Json& value = schema[key];
    if (value == true || (value.is_object() && value.empty())) continue;
    if (std::string_view(key) == "additionalProperties" && !schema.contains("patternProperties")) {
      Branch branch;
      branch.own.types = kObject;
      ObjectRules::Other other;
      other.holds = {&value, false};
      if (schema.contains("properties")) {
        for (const auto& [name, one] : schema["properties"].items()) other.than.push_back(name);
      }
      branch.own.object.others.push_back(std::move(other));
      choice.branches.push_back(std::move(branch));
      continue;
    }
    refuse(schema, key, "is not enforced under not, or where alternatives of oneOf overlap");
  }
}

void Normaliser::negate_items(const Json& schema, Choice& choice) {
  State holds;
  read_array(schema, holds);
  if (holds.own.array.layers.empty()) return;
  const ArrayRules::Layer& layer = holds.own.array.layers[0];
  for (std::size_t i = 0; i < layer.prefix.size(); ++i) {
    Branch branch;
    branch.own.types = kArray;
    branch.own.array.length.least = static_cast<int>(i) + 1;
    ArrayRules::Layer other;
    other.prefix.assign(i, {&kAnySchema, true});
    other.prefix.push_back({layer.prefix[i].schema, false});
    branch.own.array.layers.push_back(std::move(other));
    choice.branches.push_back(std::move(branch));
  }
  if (!layer.rest || *layer.rest->schema == true) return;
  Branch branch;
  branch.own.types = kArray;
  if (*layer.rest->schema == false) {
    branch.own.array.length.least = static_cast<int>(layer.prefix.size()) + 1;
  } else if (layer.prefix.empty()) {
    branch.own.array.contains.push_back({{layer.rest->schema, false}, {1, kWithoutEnd}});
  } else {
    refuse(schema, "items", "is not enforced under not beside items that come first");
  }
  choice.branches.push_back(std::move(branch));
}

// --- words ---

const Json* Normaliser::target(const Json& schema, const std::string& key) {
  const Json& reference = schema[key];
  if (!reference.is_string()) refuse(schema, key, "is to be a string");
  return document_.resolve(&schema, reference.get<std::string>());
}

unsigned Normaliser::types_of(const Json& schema, const Json& value) {
  constexpr std::array kTypes = {std::pair{"integer", kInteger + 0u}, std::pair{"number", kNumber + 0u},
                                 std::pair{"string", kString + 0u},   std::pair{"boolean", kBoolean + 0u},
                                 std::pair{"null", kNull + 0u},       std::pair{"array", kArray + 0u},
                                 std::pair{"object", kObject + 0u}};
  unsigned types = 0;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    if (one == "any" && document_.draft() == Draft::Four) return kEveryType;  // draft 3's
    const auto found =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return one == type.first; });
    if (found == kTypes.end()) refuse(schema, "type", "is to be one of JSON's types, or a list of them");
    types |= found->second;
  }
  if (types == 0) refuse(schema, "type", "is an empty list");
  return types;
}

/// Draft 4's exclusive bounds are flags beside the others.
Bound Normaliser::bound(const Json& schema, const std::string& key, const Json& value, bool& applies) const {
  const bool exclusive = key.starts_with("exclusive");
  if (exclusive && value.is_boolean()) {
    applies = false;
    return {};
  }
  if (!value.is_number()) refuse(schema, key, "is to be a number");
  const std::string flag = key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum";
  const bool flagged = !exclusive && schema.contains(flag) && schema[flag] == true;
  return {decimal_of(value), exclusive || flagged};
}

Counts Normaliser::counts(const Json& schema, const std::string& key, const Json& value) const {
  const double count = value.is_number() ? value.get<double>() : -1;
  const bool most = key.starts_with("max") || key == "minContains";
  if (count < 0 || count != std::floor(count) || (count > kLongest && !most)) {
    refuse(schema, key, fmt::format("is to be an integer from 0 to {}", kLongest));
  }
  if (!most) return {static_cast<int>(count), kWithoutEnd};
  if (count > kLongest) refuse(schema, key, fmt::format("is to be an integer from 0 to {}", kLongest));
  return {0, static_cast<int>(count)};
}

// --- children ---

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

// --- values ---

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
