#pragma once
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace augur::testing_support {

/// A validator of JSON schemas that has nothing to do with what makes the answers: what is wrong with a
/// value, or nothing. It knows the keywords of tests/data/schemas/structured_output.json, but formats other
/// than date and ipv4.
class SchemaCheck {
 public:
  using json = nlohmann::json;
  explicit SchemaCheck(const json& root) : root_(root) {}

  std::string problem(const json& value) const { return problem(root_, value); }

 private:
  static bool is_a(const json& value, const std::string& type) {
    if (type == "integer") return value.is_number() && value.get<double>() == std::floor(value.get<double>());
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "array") return value.is_array();
    return value.is_object();
  }
  static std::size_t characters(const std::string& text) {
    std::size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    return count;
  }
  int fitting(const json& schemas, const json& value) const {
    int count = 0;
    for (const json& schema : schemas) count += problem(schema, value).empty() ? 1 : 0;
    return count;
  }

  std::string problem(const json& schema, const json& value) const {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : "nothing may be here";
    for (const auto& [key, rule] : schema.items()) {
      if (const std::string found = broken(schema, key, rule, value); !found.empty()) {
        return key + " " + rule.dump() + ": " + found;
      }
    }
    return "";
  }

  std::string broken(const json& schema, const std::string& key, const json& rule, const json& value) const {
    const std::string bad = value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (key == "$ref") {
      const std::string at = rule.get<std::string>().substr(1);
      return problem(at.empty() ? root_ : root_.at(json::json_pointer(at)), value);
    }
    if (key == "type") {
      for (const json& type : rule.is_array() ? rule : json::array({rule})) {
        if (is_a(value, type.get<std::string>())) return "";
      }
      return bad;
    }
    if (key == "const") return value == rule ? "" : bad;
    if (key == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end() ? "" : bad;
    if (key == "anyOf") return fitting(rule, value) > 0 ? "" : bad;
    if (key == "oneOf") return fitting(rule, value) == 1 ? "" : bad;
    if (key == "allOf") return fitting(rule, value) == static_cast<int>(rule.size()) ? "" : bad;
    if (value.is_number()) return broken_number(key, rule, value.get<double>()) ? bad : "";
    if (value.is_string()) return broken_string(key, rule, value.get<std::string>()) ? bad : "";
    if (value.is_array()) return broken_array(schema, key, rule, value);
    if (value.is_object()) return broken_object(schema, key, rule, value);
    return "";
  }

  static bool broken_number(const std::string& key, const json& rule, double value) {
    if (key == "minimum") return value < rule.get<double>();
    if (key == "maximum") return value > rule.get<double>();
    if (key == "exclusiveMinimum") return value <= rule.get<double>();
    if (key == "exclusiveMaximum") return value >= rule.get<double>();
    if (key == "multipleOf") return std::fmod(value, rule.get<double>()) != 0;
    return false;
  }
  static bool broken_string(const std::string& key, const json& rule, const std::string& value) {
    if (key == "minLength") return characters(value) < rule.get<std::size_t>();
    if (key == "maxLength") return characters(value) > rule.get<std::size_t>();
    if (key == "pattern") return !std::regex_search(value, std::regex(rule.get<std::string>()));
    if (key == "format" && rule == "date")
      return !std::regex_match(value, std::regex("\\d{4}-[01]\\d-[0-3]\\d"));
    if (key == "format" && rule == "ipv4") {
      return !std::regex_match(value, std::regex("(\\d{1,3}\\.){3}\\d{1,3}"));
    }
    return false;
  }
  std::string broken_array(const json& schema, const std::string& key, const json& rule,
                           const json& value) const {
    if (key == "minItems") return value.size() < rule.get<std::size_t>() ? "too few" : "";
    if (key == "maxItems") return value.size() > rule.get<std::size_t>() ? "too many" : "";
    const std::size_t prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::string found;
      if (key == "prefixItems" && i < prefix) found = problem(rule[i], value[i]);
      if (key == "items" && i >= prefix) found = problem(rule, value[i]);
      if (!found.empty()) return found;
    }
    return "";
  }
  std::string broken_object(const json& schema, const std::string& key, const json& rule,
                            const json& value) const {
    if (key == "minProperties") return value.size() < rule.get<std::size_t>() ? "too few" : "";
    if (key == "maxProperties") return value.size() > rule.get<std::size_t>() ? "too many" : "";
    if (key == "required") {
      for (const json& name : rule) {
        if (!value.contains(name.get<std::string>())) return "is missing";
      }
    }
    const json patterns = schema.value("patternProperties", json::object());
    for (const auto& [name, item] : value.items()) {
      const bool known = schema.contains("properties") && schema["properties"].contains(name);
      bool matched = false;
      std::string found;
      for (const auto& [pattern, inner] : patterns.items()) {
        if (!std::regex_search(name, std::regex(pattern))) continue;
        matched = true;
        if (key == "patternProperties") found = problem(inner, item);
      }
      if (key == "properties" && known) found = problem(rule[name], item);
      if (key == "additionalProperties" && !known && !matched) found = problem(rule, item);
      if (key == "propertyNames") found = problem(rule, name);
      if (!found.empty()) return found;
    }
    return "";
  }

  const json& root_;
};

}  // namespace augur::testing_support
