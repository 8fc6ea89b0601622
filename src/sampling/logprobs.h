#pragma once
#include <span>

#include "augur/logprobs.h"
#include "base/types.h"

namespace augur {

/// Of `token` and of the `top` most probable tokens, as log-softmax(logits) has them. The sum is made in one
/// fixed order: the same logits give the same bits.
TokenLogprobs logprobs(std::span<const float> logits, TokenId token, int top);

}  // namespace augur
