#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "server/fields/bad_request.h"

namespace augur {

// Reading requests: what is not as it must be is a BadRequest that names the field and what was expected.

/// A request's body. BadRequest for what is not a JSON object.
nlohmann::json parse_body(std::string_view body);
/// The same, with the keys of its objects in the order of the text: for what models are shown.
nlohmann::ordered_json parse_ordered_body(std::string_view body);

[[noreturn]] void unsupported(const std::string& field);
[[noreturn]] void unexpected(const std::string& field, std::string_view expected);

double read_number(const std::string& field, const nlohmann::json& value, double low, double high);
std::int64_t read_integer(const std::string& field, const nlohmann::json& value, std::int64_t low,
                          std::int64_t high);
bool read_boolean(const std::string& field, const nlohmann::json& value);
std::string read_string(const std::string& field, const nlohmann::json& value);
/// A part of a message is of another type than those that are `expected`. BadRequest that says what it is and
/// that the server takes text only.
[[noreturn]] void refuse_part(const std::string& field, const nlohmann::json& type,
                              std::string_view expected);

}  // namespace augur
