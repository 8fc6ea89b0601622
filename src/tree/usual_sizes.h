#pragma once
#include <cstddef>

namespace augur {

/// Room that trees, policies and drafters reserve when a sequence begins, and the step for its rows, so that
/// rounds need not allocate: longer accepted paths, larger trees and fuller steps than these do, once.
inline constexpr std::size_t kUsualPath = 64;    ///< accepted tokens
inline constexpr std::size_t kUsualTree = 1024;  ///< nodes
inline constexpr std::size_t kUsualRows = 512;   ///< of a step

}  // namespace augur
