#include "grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "grammar/string_formats.h"
#include "io/json_reader.h"

namespace augur {
namespace {

using Json = nlohmann::ordered_json;  // properties are written in the schema's order
using Keywords = std::span<const std::string_view>;

/// They constrain nothing.
constexpr std::array<std::string_view, 11> kAnnotations = {
    "title",     "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "$comment",    "$schema", "$defs",    "definitions"};

/// The first that a schema has decides.
constexpr std::array<std::string_view, 6> kDeciding = {"$ref", "const", "enum", "anyOf", "oneOf", "allOf"};

constexpr std::array<std::string_view, 5> kOfIntegers = {"minimum", "maximum", "exclusiveMinimum",
                                                         "exclusiveMaximum", "multipleOf"};
constexpr std::array<std::string_view, 4> kOfNumbers = {"minimum", "maximum", "exclusiveMinimum",
                                                        "exclusiveMaximum"};
constexpr std::array<std::string_view, 4> kOfStrings = {"minLength", "maxLength", "pattern", "format"};
constexpr std::array<std::string_view, 5> kOfArrays = {"items", "prefixItems", "unevaluatedItems", "minItems",
                                                       "maxItems"};
constexpr std::array<std::string_view, 8> kOfObjects = {
    "properties",    "required",      "patternProperties", "additionalProperties", "unevaluatedProperties",
    "propertyNames", "minProperties", "maxProperties"};

constexpr double kLongest = 10000;  ///< of lengths and counts: each is a state of the grammar

bool among(Keywords words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Keywords keywords_of(std::string_view type) {
  if (type == "integer") return kOfIntegers;
  if (type == "number") return kOfNumbers;
  if (type == "string") return kOfStrings;
  if (type == "array") return kOfArrays;
  if (type == "object") return kOfObjects;
  return {};
}

bool is_a(const Json& value, std::string_view type) {
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number() && value.get<double>() == std::int64_t(value.get<double>()));
  }
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return value.is_object();
}

class Checker {
 public:
  void check(Json& schema, const std::string& at) const {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) throw Error("JSON schema: {} is false, which nothing fits", at);
      return;
    }
    if (!schema.is_object()) throw Error("JSON schema: {} is to be an object", at);
    if (schema.contains("uniqueItems") && schema["uniqueItems"] == false) schema.erase("uniqueItems");
    check_definitions(schema, at);
    for (const std::string_view deciding : kDeciding) {
      if (!schema.contains(deciding)) continue;
      check_decided(schema, deciding, at);
      return;
    }
    check_typed(schema, at);
  }

 private:
  [[noreturn]] static void refuse(const std::string& at, std::string_view keyword, std::string_view why) {
    throw Error("JSON schema: {}/{} {}", at, keyword, why);
  }

  /// Error for a keyword that is neither an annotation nor among those.
  static void allow_only(const Json& schema, std::initializer_list<Keywords> known, const std::string& at,
                         std::string_view why) {
    for (const auto& [key, value] : schema.items()) {
      if (among(kAnnotations, key) || (key == "$id" && at == "#")) continue;
      if (std::none_of(known.begin(), known.end(),
                       [&word = key](Keywords words) { return among(words, word); })) {
        refuse(at, key, why);
      }
    }
  }

  void check_definitions(Json& schema, const std::string& at) const {
    for (const char* name : {"$defs", "definitions"}) {
      if (schema.contains(name)) check_each(schema[name], at + "/" + name);
    }
  }

  void check_each(Json& schemas, const std::string& at) const {
    if (!schemas.is_object()) throw Error("JSON schema: {} is to be an object of schemas", at);
    for (auto& [key, value] : schemas.items()) check(value, at + "/" + key);
  }

  void check_all(Json& schemas, const std::string& at) const {
    if (!schemas.is_array() || schemas.empty()) {
      throw Error("JSON schema: {} is to be a list of schemas that is not empty", at);
    }
    for (std::size_t i = 0; i < schemas.size(); ++i) check(schemas[i], at + "/" + std::to_string(i));
  }

  void check_decided(Json& schema, std::string_view deciding, const std::string& at) const {
    constexpr std::array<std::string_view, 1> kType = {"type"};
    const bool values = deciding == "const" || deciding == "enum";
    const std::array<std::string_view, 1> own = {deciding};
    allow_only(schema, {own, values ? Keywords(kType) : Keywords()}, at,
               "is not enforced beside " + std::string(deciding));
    Json& value = schema[std::string(deciding)];
    const std::string here = at + "/" + std::string(deciding);
    if (deciding == "$ref") {
      check_reference(value, here);
    } else if (deciding == "const") {
      check_value(schema, value, here);
    } else if (deciding == "enum") {
      if (!value.is_array() || value.empty())
        throw Error("JSON schema: {} is to be a list that is not empty", here);
      for (std::size_t i = 0; i < value.size(); ++i) {
        check_value(schema, value[i], here + "/" + std::to_string(i));
      }
    } else {
      check_all(value, here);
    }
  }

  static void check_reference(const Json& value, const std::string& at) {
    const std::string target = value.is_string() ? value.get<std::string>() : "";
    if (target != "#" && !(target.starts_with("#/") && is_place_of_schema(target.substr(2)))) {
      throw Error("JSON schema: {} is to be \"#\" or the place of a schema, \"#/...\"", at);
    }
  }

  /// Whether what a pointer names is looked through: annotations, for instance, are not.
  static bool is_place_of_schema(const std::string& pointer) {
    constexpr std::array<std::string_view, 8> kOfMany = {
        "$defs", "definitions", "properties", "patternProperties", "prefixItems", "anyOf", "oneOf", "allOf"};
    constexpr std::array<std::string_view, 5> kOfOne = {"items", "unevaluatedItems", "additionalProperties",
                                                        "unevaluatedProperties", "propertyNames"};
    std::istringstream parts(pointer);
    std::string part;
    while (std::getline(parts, part, '/')) {
      if (among(kOfOne, part)) continue;
      if (!among(kOfMany, part) || !std::getline(parts, part, '/')) return false;
    }
    return true;
  }

  /// A value that const or enum name beside a type has that type.
  static void check_value(const Json& schema, const Json& value, const std::string& at) {
    if (!schema.contains("type")) return;
    const std::vector<std::string> types = types_of(schema, at);
    if (std::none_of(types.begin(), types.end(),
                     [&](const std::string& type) { return is_a(value, type); })) {
      throw Error("JSON schema: {} is not of the type that is named beside it", at);
    }
  }

  static std::vector<std::string> types_of(const Json& schema, const std::string& at) {
    constexpr std::array<std::string_view, 7> kTypes = {"integer", "number", "string", "boolean",
                                                        "null",    "array",  "object"};
    const Json& type = schema["type"];
    std::vector<std::string> types;
    for (const Json& one : type.is_array() ? type : Json::array({type})) {
      if (!one.is_string() || !among(kTypes, one.get<std::string>())) {
        refuse(at, "type", "is to be one of JSON's types, or a list of them");
      }
      types.push_back(one.get<std::string>());
    }
    if (types.empty()) refuse(at, "type", "is an empty list");
    return types;
  }

  void check_typed(Json& schema, const std::string& at) const {
    std::vector<std::string> types;
    const auto has_any = [&](std::initializer_list<const char*> keys) {
      return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return schema.contains(key); });
    };
    if (schema.contains("type")) {
      types = types_of(schema, at);
    } else if (has_any({"properties", "additionalProperties", "unevaluatedProperties"})) {
      types = {"object"};
    } else if (has_any({"items", "prefixItems", "unevaluatedItems"})) {
      types = {"array"};
    }
    constexpr std::array<std::string_view, 1> kType = {"type"};
    for (const auto& [key, value] : schema.items()) {
      const bool applies = std::any_of(types.begin(), types.end(), [&word = key](const std::string& type) {
        return among(keywords_of(type), word);
      });
      if (applies || among(kAnnotations, key) || among(kType, key) || (key == "$id" && at == "#")) continue;
      refuse(at, key, types.empty() ? "is not enforced without a type" : "is not enforced for this type");
    }
    for (const std::string& type : types) {
      if (type == "object") check_object(schema, at);
      if (type == "array") check_array(schema, at);
      if (type == "string") check_string(schema, at);
    }
  }

  void check_object(Json& schema, const std::string& at) const {
    for (const char* key : {"properties", "patternProperties"}) {
      if (schema.contains(key)) check_each(schema[key], at + "/" + key);
    }
    if (schema.contains("propertyNames")) check(schema["propertyNames"], at + "/propertyNames");
    check_rest(schema, {"additionalProperties", "unevaluatedProperties"}, at);
    check_counts(schema, {"minProperties", "maxProperties"}, at);
    const bool open = std::none_of(kOfObjects.begin(), kOfObjects.end(), [&](std::string_view key) {
      return key.ends_with("roperties") && !key.starts_with("m") && schema.contains(key);
    });
    if (open && !schema.contains("propertyNames")) schema["additionalProperties"] = true;
    name_required(schema, at);
    check_keys(schema, at);
  }

  /// The library enforces `required` for the properties that it knows.
  static void name_required(Json& schema, const std::string& at) {
    if (!schema.contains("required")) return;
    const Json names = schema["required"];
    if (!names.is_array()) refuse(at, "required", "is to be a list of names");
    for (const Json& name : names) {
      if (!name.is_string()) refuse(at, "required", "is to be a list of names");
      if (schema.contains("properties") && schema["properties"].contains(name.get<std::string>())) continue;
      for (const char* key : {"patternProperties", "propertyNames"}) {
        if (schema.contains(key)) refuse(at, "required", std::string("names no property, beside ") + key);
      }
      Json rest = true;
      for (const char* key : {"unevaluatedProperties", "additionalProperties"}) {
        if (schema.contains(key)) rest = schema[key];
      }
      if (rest == false) refuse(at, "required", "names a property that there may not be");
      schema["properties"][name.get<std::string>()] = rest;
    }
  }

  /// What the library does not hold against each other, or where a name that comes twice would count twice.
  static void check_keys(const Json& schema, const std::string& at) {
    const bool named = schema.contains("properties") && !schema["properties"].empty();
    const bool patterns = schema.contains("patternProperties");
    if (named && patterns) refuse(at, "patternProperties", "is not enforced beside properties");
    if (schema.contains("propertyNames")) {
      if (named || patterns) refuse(at, "propertyNames", "is not enforced beside other properties");
      check_names(schema["propertyNames"], at);
    }
    if (patterns) {
      const Json& all = schema["patternProperties"];
      if (std::any_of(all.begin(), all.end(), [&](const Json& one) { return one != all.front(); })) {
        refuse(at, "patternProperties", "is enforced for one pattern only, or one schema for all");
      }
    }
    const bool rest = (schema.contains("additionalProperties") && schema["additionalProperties"] != false) ||
                      (schema.contains("unevaluatedProperties") && schema["unevaluatedProperties"] != false);
    const std::size_t certain = schema.contains("required") ? schema["required"].size() : 0;
    if ((rest || patterns || schema.contains("propertyNames")) && schema.contains("minProperties") &&
        schema["minProperties"].get<std::size_t>() > certain + 1) {
      refuse(at, "minProperties",
             "can only be enforced up to one more than are required, or where all are named");
    }
  }

  static void check_names(const Json& names, const std::string& at) {
    const bool strings = names.contains("type") && names["type"] == "string";
    const bool listed =
        names.contains("enum") && std::all_of(names["enum"].begin(), names["enum"].end(),
                                              [](const Json& one) { return one.is_string(); });
    if (!strings && !listed) refuse(at, "propertyNames", "is to be of type string, or an enum of strings");
  }

  void check_array(Json& schema, const std::string& at) const {
    if (schema.contains("prefixItems")) check_all(schema["prefixItems"], at + "/prefixItems");
    check_rest(schema, {"items", "unevaluatedItems"}, at);
    check_counts(schema, {"minItems", "maxItems"}, at);
    if (!schema.contains("items") && !schema.contains("unevaluatedItems")) {
      if (!schema.contains("prefixItems")) schema["items"] = true;
    }
  }

  static void check_string(Json& schema, const std::string& at) {
    check_counts(schema, {"minLength", "maxLength"}, at);
    if (schema.contains("pattern") && !schema["pattern"].is_string())
      refuse(at, "pattern", "is to be a string");
    if (!schema.contains("format")) return;
    if (schema.contains("pattern")) refuse(at, "pattern", "is not enforced beside format");
    const Json& format = schema["format"];
    const auto pattern = format.is_string() ? pattern_of_format(format.get<std::string>()) : std::nullopt;
    if (!pattern) refuse(at, "format", "is none that can be enforced");
    schema.erase("format");  // the library's own ones are not strict
    schema["pattern"] = *pattern;
  }

  /// What the rest of the properties or items must be: a schema, or whether there may be any.
  void check_rest(Json& schema, std::initializer_list<const char*> keys, const std::string& at) const {
    for (const char* key : keys) {
      if (schema.contains(key) && !schema[key].is_boolean()) check(schema[key], at + "/" + key);
    }
  }

  /// Counts may be written as 2.0.
  static void check_counts(Json& schema, std::initializer_list<const char*> keys, const std::string& at) {
    for (const char* key : keys) {
      if (!schema.contains(key)) continue;
      Json& count = schema[key];
      const double value = count.is_number() ? count.get<double>() : -1;
      if (value < 0 || value > kLongest || value != std::floor(value)) {
        refuse(at, key, fmt::format("is to be an integer from 0 to {}", kLongest));
      }
      count = static_cast<std::uint64_t>(value);
    }
  }
};

}  // namespace

std::string enforceable_schema(std::string_view text) {
  parse_json(text, "JSON schema");  // says what is wrong, and how deep it may be
  Json schema = Json::parse(text);
  Checker().check(schema, "#");
  return schema.dump();
}

}  // namespace augur
