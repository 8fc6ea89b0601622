#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "grammar/schema/normaliser.h"
#include "grammar/string_formats.h"

namespace augur {

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
      refuse(schema, key, fmt::format("cannot be enforced: {}", error.what()), ErrorKind::Unsupported);
    } catch (const AutomatonTooLarge&) {
    }
    own.string.patterns.push_back(value.get<std::string>());
  } else if (key == "format") {
    if (!value.is_string()) refuse(schema, key, "is to be a string");
    const auto name = value.get<std::string>();
    if (!known_format(name)) return;
    if (!pattern_of_format(name)) {
      if ((own.types & kString) != 0)
        refuse(schema, key, "is none that can be enforced", ErrorKind::Unsupported);
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
        refuse(schema, "patternProperties", fmt::format("cannot be enforced: {}", error.what()),
               ErrorKind::Unsupported);
      } catch (const AutomatonTooLarge&) {
        refuse(schema, "patternProperties", fmt::format("has a pattern that is too large: {}", pattern),
               ErrorKind::Unsupported);
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
    refuse(schema, key, "is not enforced beside keywords whose outcome depends on the value",
           ErrorKind::Unsupported);
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

}  // namespace augur
