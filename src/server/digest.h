#pragma once
#include <string>
#include <string_view>

namespace augur {

/// A UUID of a text (RFC 9562, version 5), in a name space of this project's: it stands for a key where the
/// key must not be seen.
std::string digest(std::string_view text);

}  // namespace augur
