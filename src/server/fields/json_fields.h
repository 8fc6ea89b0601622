#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "server/fields/bad_request.h"
#include "server/fields/body_parser.h"

namespace augur {

// Reading requests: what is not as it must be is a BadRequest that names the field and what was expected.

[[noreturn]] void unsupported(const std::string& field);
[[noreturn]] void unexpected(const std::string& field, std::string_view expected);

double read_number(const std::string& field, const nlohmann::ordered_json& value, double low, double high);
std::int64_t read_integer(const std::string& field, const nlohmann::ordered_json& value, std::int64_t low,
                          std::int64_t high);
bool read_boolean(const std::string& field, const nlohmann::ordered_json& value);
std::string read_string(const std::string& field, const nlohmann::ordered_json& value);
/// A part of a message is of another type than those that are `expected`. BadRequest that says what it is and
/// that the server takes text only.
[[noreturn]] void refuse_part(const std::string& field, const nlohmann::ordered_json& type,
                              std::string_view expected);

}  // namespace augur
