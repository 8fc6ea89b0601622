#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace augur {

/// On one line; bytes that are no UTF-8 are replaced.
std::string text_of(const nlohmann::ordered_json& object);

/// Bytes as a list of numbers.
nlohmann::ordered_json bytes_json(std::string_view bytes);

/// An answer's name: `prefix` and 24 random hexadecimal digits.
std::string random_id(std::string_view prefix);

}  // namespace augur
