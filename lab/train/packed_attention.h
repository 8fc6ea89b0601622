#pragma once
#include <torch/torch.h>

#include <cstdint>

#include "lab/train/pack_layout.h"

namespace augur {

/// What attention makes of products of queries and keys, and how far back a row sees.
struct AttentionRule {
  double scale = 1;
  double cap = 0;           ///< > 0: cap * tanh(score / cap)
  std::int64_t window = 0;  ///< > 0: a row sees so many of its sequence's rows, its own the last
};

/// Attention of all sequences of a pack: every row sees its sequence's rows up to its own, and, where they
/// are given, further keys that are its alone. q [T, heads, d]; k and v [T, kv heads, d], each for heads / kv
/// heads queries; own_k and own_v [E, T, kv heads, d], or both undefined. All of one type, float32 or
/// bfloat16; so is what comes back, the mixed values [T, heads, d]. Scores and their softmax are float32.
/// Differentiable in all tensors.
///
/// On GPUs libtorch's flash attention mixes what all rows of a sequence see; where it can't, and elsewhere,
/// matrices of scores do, for sequences of about one length together.
///
/// Keys of a row's own are merged in closed form: with s0 and o0 the log-sum-exp of the causal scores and
/// their mixed values, s_e = q k_e the score of an own key, and s the log-sum-exp of s0 and all s_e, what
/// comes out is o = exp(s0 - s) o0 + sum_e exp(s_e - s) v_e. Backward the causal part's probabilities are
/// exp(score - s), so its gradient is that of causal attention that had put out o and s.
torch::Tensor packed_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& own_k, const torch::Tensor& own_v,
                               const PackLayoutPtr& layout, const AttentionRule& rule);

}  // namespace augur
