#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "augur/error.h"

namespace augur {

/// The keys of one JSON object, read with checks. An absent key and an explicit null are the same, except to
/// has(). Error, naming file and key, where a value is not what was asked for. The object is borrowed.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string file, std::string prefix = "");

  bool has(const char* key) const;
  const nlohmann::json* find(const char* key) const;

  /// Error unless min <= value <= max.
  std::optional<std::int64_t> find_int(const char* key, std::int64_t max, std::int64_t min = 1) const;
  std::int64_t require_int(const char* key, std::int64_t max, std::int64_t min = 1) const;
  /// Error unless low <= value <= high.
  std::optional<double> find_number(const char* key, double low, double high) const;
  double require_number(const char* key, double low, double high) const;
  bool flag(const char* key, bool fallback = false) const;
  std::optional<std::string> find_string(const char* key) const;
  std::optional<JsonFields> find_object(const char* key) const;

  [[noreturn]] void fail(std::string_view key, const std::string& problem,
                         ErrorKind kind = ErrorKind::Malformed) const;

 private:
  const nlohmann::json& object_;
  std::string file_;
  std::string prefix_;
};

}  // namespace augur
