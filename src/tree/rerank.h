#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tree/draft_tree.h"

namespace augur {

/// Moves the `count` best nodes (highest score, then lowest index) to the front of `order`, sorted.
void best_first(std::vector<std::int32_t>& order, std::size_t count, std::span<const float> scores);

/// EAGLE-2's second phase: of all candidates, the best by score stay. Holds scratch.
class Reranker {
 public:
  /// Keeps the `count` best nodes beside the root. Equal scores go to the lower index, so that a kept node's
  /// ancestors are kept. Where a scorer rated a child above its parent, what counts is the worst node on the
  /// path; NaN is the worst of all.
  void keep_best(DraftTree& tree, std::size_t count);

 private:
  std::vector<std::int32_t> order_;
  std::vector<float> scores_;
};

}  // namespace augur
