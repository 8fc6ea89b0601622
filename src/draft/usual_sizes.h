#pragma once
#include <cstddef>

namespace augur {

/// Room that drafters reserve when a sequence begins, so that rounds need not allocate: longer accepted paths
/// and larger trees than these do, once.
constexpr std::size_t kUsualPath = 64;
constexpr std::size_t kUsualTree = 1024;

}  // namespace augur
