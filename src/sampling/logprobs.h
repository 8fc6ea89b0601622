#pragma once
#include <span>

#include "augur/logprobs.h"
#include "base/types.h"
#include "sampling/sparse_distribution.h"

namespace augur {

/// Of `token` and of the `top` most probable tokens, as log-softmax(logits) has them. The sum is made in one
/// fixed order: the same logits give the same bits.
TokenLogprobs logprobs(std::span<const float> logits, TokenId token, int top);

/// The same in a distribution: `top` has no token that is not in it.
TokenLogprobs logprobs(const SparseDistribution& distribution, TokenId token, int top);

}  // namespace augur
