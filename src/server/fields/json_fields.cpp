#include "server/fields/json_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace augur {

using nlohmann::ordered_json;

void unsupported(const std::string& field) {
  throw BadRequest(field, "this server does not support it");
}

void unexpected(const std::string& field, std::string_view expected) {
  throw BadRequest(field, fmt::format("expected {}", expected));
}

double read_number(const std::string& field, const ordered_json& value, double low, double high) {
  if (!value.is_number() || !(value.get<double>() >= low && value.get<double>() <= high)) {
    unexpected(field, fmt::format("a number from {} to {}", low, high));
  }
  return value.get<double>();
}

std::int64_t read_integer(const std::string& field, const ordered_json& value, std::int64_t low,
                          std::int64_t high) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                        : value.is_number_integer() && value.get<std::int64_t>() <= high;
  if (!fits || value.get<std::int64_t>() < low)
    unexpected(field, fmt::format("an integer from {} to {}", low, high));
  return value.get<std::int64_t>();
}

bool read_boolean(const std::string& field, const ordered_json& value) {
  if (!value.is_boolean()) unexpected(field, "true or false");
  return value.get<bool>();
}

std::string read_string(const std::string& field, const ordered_json& value) {
  if (!value.is_string()) unexpected(field, "a string");
  return value.get<std::string>();
}

void refuse_part(const std::string& field, const ordered_json& type, std::string_view expected) {
  const std::string name = type.is_string() ? "'" + type.get<std::string>() + "'" : "no type";
  throw BadRequest(field, fmt::format("{}: this server takes text only: expected {}", name, expected));
}

}  // namespace augur
