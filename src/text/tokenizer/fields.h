#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text/tokenizer/regex.h"

namespace augur {

/// Typed access to the fields of a component of tokenizer.json. Errors are prefixed with `where` (file and
/// component) and name the field.
const nlohmann::json& require_field(const nlohmann::json& object, const char* key, const std::string& where);
std::string require_string(const nlohmann::json& object, const char* key, const std::string& where);
std::int64_t require_integer(const nlohmann::json& object, const char* key, const std::string& where);
/// `fallback` where the field is absent or null.
bool flag_or(const nlohmann::json& object, const char* key, bool fallback, const std::string& where);
std::string string_or(const nlohmann::json& object, const char* key, const std::string& fallback,
                      const std::string& where);

/// A `pattern` field: {"Regex": "..."} or {"String": "..."}.
struct PatternField {
  bool is_regex = false;
  std::string text;
  Regex compile(const std::string& where) const;
};
PatternField require_pattern(const nlohmann::json& object, const std::string& where);

}  // namespace augur
