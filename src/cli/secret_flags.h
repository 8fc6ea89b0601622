#pragma once
#include <array>
#include <string_view>

namespace augur::cli {

/// Flags whose values nobody is to see: neither in ps nor in what --print-config writes.
inline constexpr std::array<std::string_view, 2> kSecretFlags = {"--api-key", "--metrics-key"};

}  // namespace augur::cli
