#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

// Plain data only: kernel files that are compiled for other instruction sets include this (cpu/gemm_task.h).

namespace augur {

/// How products with weights of one type go over memory. Which traversal is fast depends on the processor;
/// none changes a bit (docs/law.md says in which order sums are made). This one is nowhere the worst.
struct GemmTraversal {
  /// How rows that fit one tile read the weights: each line once, from memory.
  struct Stream {
    int panels = 1;       ///< read side by side, where the tile has so many; >= 1
    int near_lines = 24;  ///< 64-byte lines, over all panels, between what is prefetched into the first-level
                          ///< cache and what is used; 0: that is left to the processor
    int far_lines = 320;  ///< the same for the second-level cache

    friend bool operator==(const Stream&, const Stream&) = default;
  };
  Stream one_row, few_rows;
  int block_kib = 192;  ///< KiB of weights that a core's caches hold while more rows pass; >= 1

  const Stream& stream(std::int64_t rows) const { return rows == 1 ? one_row : few_rows; }
  friend bool operator==(const GemmTraversal&, const GemmTraversal&) = default;
};

/// A traversal for each type of weights.
class GemmTraversals {
 public:
  const GemmTraversal& of(DType type) const { return traversals_[static_cast<std::size_t>(type)]; }
  void set(DType type, const GemmTraversal& traversal) {
    traversals_[static_cast<std::size_t>(type)] = traversal;
  }

 private:
  std::array<GemmTraversal, 64> traversals_{};
};

}  // namespace augur
