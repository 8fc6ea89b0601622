#pragma once
#include <cstddef>
#include <cstdint>

namespace augur {

/// A node, row or entry as a container wants it: tokens[at(node)]. Not negative.
constexpr std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace augur
