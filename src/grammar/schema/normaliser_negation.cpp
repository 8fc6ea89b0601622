#include <algorithm>

#include "grammar/schema/normaliser.h"
#include "grammar/string_formats.h"

namespace augur {

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
      refuse(schema, key, "is not enforced under not", ErrorKind::Unsupported);
    branch.own.types = kArray;
    branch.own.array.layers.push_back({{}, Literal{&value, false}});
    done();
  } else if (key == "format") {
    if (value.is_string() && known_format(value.get<std::string>()))
      refuse(schema, key, "is not enforced under not", ErrorKind::Unsupported);
  } else if (key == "uniqueItems") {
    if (value == true) refuse(schema, key, "is not enforced under not", ErrorKind::Unsupported);
  } else if (key == "propertyNames" || key == "unevaluatedProperties" || key == "unevaluatedItems") {
    if (value != true) refuse(schema, key, "is not enforced under not", ErrorKind::Unsupported);
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
    refuse(schema, key, "is not enforced under not, or where alternatives of oneOf overlap",
           ErrorKind::Unsupported);
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
    refuse(schema, "items", "is not enforced under not beside items that come first", ErrorKind::Unsupported);
  }
  choice.branches.push_back(std::move(branch));
}

}  // namespace augur
