#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace augur {

// JSON whose integers may have any number of digits (up to 308, as JSON's other numbers). nlohmann-json makes
// a double of an integer that 64 bits do not hold; here such a one is kept as its digits, in a value of the
// type `binary`, which no JSON text can hold.

/// Keeps the order of keys; of duplicate keys the last one counts. A discarded value for text that is
/// malformed or nested deeper than kMaxJsonDepth.
nlohmann::ordered_json parse_exact_json(std::string_view text);
/// On one line; bytes that are no UTF-8 are replaced.
std::string write_exact_json(const nlohmann::ordered_json& value);

/// What a parser makes of a number that 64 bits do not hold as an integer: `text` is how it is written.
nlohmann::ordered_json exact_number(double value, const std::string& text);

/// The digits, perhaps behind a minus sign, of a value of the type `binary`.
std::string_view big_integer(const nlohmann::ordered_json& value);

}  // namespace augur
