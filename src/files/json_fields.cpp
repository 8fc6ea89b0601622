#include "files/json_fields.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, std::string file, std::string prefix)
    : object_(object), file_(std::move(file)), prefix_(std::move(prefix)) {}

bool JsonFields::has(const char* key) const {
  return object_.contains(key);
}

const nlohmann::json* JsonFields::find(const char* key) const {
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

std::optional<std::int64_t> JsonFields::find_int(const char* key, std::int64_t max, std::int64_t min) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer() || *value < min || *value > max) {
    fail(key, fmt::format("expected an integer from {} to {}, found {}", min, max, shown(*value)));
  }
  return value->get<std::int64_t>();
}

std::int64_t JsonFields::require_int(const char* key, std::int64_t max, std::int64_t min) const {
  const auto value = find_int(key, max, min);
  if (!value) fail(key, "missing");
  return *value;
}

std::optional<double> JsonFields::find_number(const char* key, double low, double high) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(value->get<double>() >= low) || !(value->get<double>() <= high)) {
    fail(key, fmt::format("expected a number from {} to {}, found {}", low, high, shown(*value)));
  }
  return value->get<double>();
}

double JsonFields::require_number(const char* key, double low, double high) const {
  const auto value = find_number(key, low, high);
  if (!value) fail(key, "missing");
  return *value;
}

bool JsonFields::flag(const char* key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, "expected true or false, found " + shown(*value));
  return value->get<bool>();
}

std::optional<std::string> JsonFields::find_string(const char* key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, "expected a string, found " + shown(*value));
  return value->get<std::string>();
}

std::optional<JsonFields> JsonFields::find_object(const char* key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) fail(key, "expected an object, found " + shown(*value));
  return JsonFields(*value, file_, prefix_ + key + ".");
}

void JsonFields::fail(std::string_view key, const std::string& problem, ErrorKind kind) const {
  throw Error(kind, "{}: {}{}: {}", file_, prefix_, key, problem);
}

}  // namespace augur
