#pragma once
#include <cstddef>

namespace augur {

/// Room that drafters reserve when a sequence begins, and the step for its rows, so that rounds need not
/// allocate: longer accepted paths, larger trees and fuller steps than these do, once.
constexpr std::size_t kUsualPath = 64;
constexpr std::size_t kUsualTree = 1024;
constexpr std::size_t kUsualRows = 512;

}  // namespace augur
