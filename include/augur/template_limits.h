#pragma once
#include <cstdint>

namespace augur {
inline namespace abi1 {

/// Limits for rendering a chat template once; exceeding one is an Error.
struct TemplateLimits {
  std::int64_t steps = 5'000'000;    ///< evaluated expressions, visited items, and pieces of 64 bytes
  std::int64_t bytes = 128ll << 20;  ///< bytes of texts and lists made while rendering, with the conversation
};

}  // namespace abi1
}  // namespace augur
