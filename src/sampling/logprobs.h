#pragma once
#include <span>

#include "augur/logprobs.h"
#include "base/types.h"
#include "sampling/sparse_distribution.h"

namespace augur {

/// Log-softmax(logits) of `token` and of the `top` most probable tokens. The sum has one fixed order, so the
/// same logits give the same bits.
TokenLogprobs logprobs(std::span<const float> logits, TokenId token, int top);

/// The same for a distribution: `top` lists only tokens that are in it.
TokenLogprobs logprobs(const SparseDistribution& distribution, TokenId token, int top);

}  // namespace augur
