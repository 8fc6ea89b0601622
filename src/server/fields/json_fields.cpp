#include "server/fields/json_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/big_integers.h"
#include "io/json_reader.h"
#include "server/http/io_thread.h"

namespace augur {

using nlohmann::json;

json parse_body(std::string_view body) {
  IoThread::must_not_be_current();
  json object;
  try {
    object = parse_json(body, "the body");
  } catch (const Error& error) {
    throw BadRequest("", error.what());
  }
  if (!object.is_object()) throw BadRequest("", "the body is not a JSON object");
  return object;
}

nlohmann::ordered_json parse_ordered_body(std::string_view body) {
  parse_body(body);  // for its checks
  return parse_exact_json(body);
}

void unsupported(const std::string& field) {
  throw BadRequest(field, "this server does not support it");
}

void unexpected(const std::string& field, std::string_view expected) {
  throw BadRequest(field, fmt::format("expected {}", expected));
}

double read_number(const std::string& field, const json& value, double low, double high) {
  if (!value.is_number() || !(value.get<double>() >= low && value.get<double>() <= high)) {
    unexpected(field, fmt::format("a number from {} to {}", low, high));
  }
  return value.get<double>();
}

std::int64_t read_integer(const std::string& field, const json& value, std::int64_t low, std::int64_t high) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                        : value.is_number_integer() && value.get<std::int64_t>() <= high;
  if (!fits || value.get<std::int64_t>() < low)
    unexpected(field, fmt::format("an integer from {} to {}", low, high));
  return value.get<std::int64_t>();
}

bool read_boolean(const std::string& field, const json& value) {
  if (!value.is_boolean()) unexpected(field, "true or false");
  return value.get<bool>();
}

std::string read_string(const std::string& field, const json& value) {
  if (!value.is_string()) unexpected(field, "a string");
  return value.get<std::string>();
}

void refuse_part(const std::string& field, const json& type, std::string_view expected) {
  const std::string name = type.is_string() ? "'" + type.get<std::string>() + "'" : "no type";
  throw BadRequest(field, fmt::format("{}: this server takes text only: expected {}", name, expected));
}

}  // namespace augur
