#pragma once
#include <array>
#include <string_view>

namespace augur::cli {

/// Flags whose values nobody is to see: neither in ps nor in what --print-config writes.
inline constexpr std::array<std::string_view, 4> kSecretFlags = {"--api-key", "--metrics-key", "--hf-token",
                                                                 "-hft"};

}  // namespace augur::cli
