#pragma once
#include <span>

#include "draft/drafter.h"

namespace augur {

/// Draws up to `count` children of `node` without replacement from the law that the sequence's own sampling
/// parameters (penalties aside) make of the drafter's logits, and stores that law as the node's q. The noise
/// is independent of the target's and differs by position. Returns the number of children added.
int add_sampled_children(DraftTree& tree, std::int32_t node, std::span<const float> logits, int count,
                         const ExpandOptions& options);

}  // namespace augur
