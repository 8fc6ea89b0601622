#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace augur {

/// A regular expression for the texts of a `format` of JSON Schema (RFC 3339, 5321, 1123, 4122, 3986, 6570,
/// 6901), or of most of them: what it takes is always one, so that no validator can object. Of what is left
/// out: leap seconds, quoted local parts and names of more than three labels in addresses, IPv4 in IPv6,
/// international names. Nothing for a format that can't be enforced.
std::optional<std::string> pattern_of_format(std::string_view format);

/// Whether the specification names it, enforced here or not.
bool known_format(std::string_view format);

}  // namespace augur
