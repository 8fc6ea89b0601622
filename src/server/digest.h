#pragma once
#include <string>
#include <string_view>

namespace augur {

/// A UUID of a text (RFC 9562, version 5), in this project's name space. It represents a key where the key
/// must not be visible.
std::string digest(std::string_view text);

}  // namespace augur
