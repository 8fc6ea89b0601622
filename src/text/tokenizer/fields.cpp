#include "text/tokenizer/fields.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {

using nlohmann::json;

const json& require_field(const json& object, const char* key, const std::string& where) {
  if (!object.is_object()) throw Error("{}: expected an object, found {}", where, object.type_name());
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) throw Error("{}: {}: missing", where, key);
  return *found;
}

std::string require_string(const json& object, const char* key, const std::string& where) {
  const json& value = require_field(object, key, where);
  if (!value.is_string()) throw Error("{}: {}: expected a string, found {}", where, key, value.type_name());
  return value.get<std::string>();
}

std::int64_t require_integer(const json& object, const char* key, const std::string& where) {
  const json& value = require_field(object, key, where);
  if (!value.is_number_integer())
    throw Error("{}: {}: expected an integer, found {}", where, key, value.type_name());
  return value.get<std::int64_t>();
}

bool flag_or(const json& object, const char* key, bool fallback, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  if (!found->is_boolean())
    throw Error("{}: {}: expected true or false, found {}", where, key, found->type_name());
  return found->get<bool>();
}

std::string string_or(const json& object, const char* key, const std::string& fallback,
                      const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  if (!found->is_string()) throw Error("{}: {}: expected a string, found {}", where, key, found->type_name());
  return found->get<std::string>();
}

Regex PatternField::compile(const std::string& where) const {
  if (is_regex) return Regex(text, where);
  std::string quoted;
  for (const char c : text) {
    const bool plain =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80);
    if (!plain) quoted += '\\';
    quoted += c;
  }
  return Regex(quoted, where);
}

PatternField require_pattern(const json& object, const std::string& where) {
  const json& pattern = require_field(object, "pattern", where);
  if (pattern.is_object() && pattern.size() == 1 && pattern.begin()->is_string()) {
    const std::string& kind = pattern.begin().key();
    if (kind == "Regex" || kind == "String") return {kind == "Regex", pattern.begin()->get<std::string>()};
  }
  throw Error("{}: pattern: expected {{\"Regex\": \"...\"}} or {{\"String\": \"...\"}}", where);
}

}  // namespace augur
