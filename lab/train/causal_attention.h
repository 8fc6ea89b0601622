#pragma once
#include <torch/torch.h>

#include "lab/train/packed_attention.h"

namespace augur {

// Causal attention within the sequences of a pack, without autograd: a forward pass, and the gradient that
// belongs to it. Shapes and types as packed_attention() has them.

struct CausalAttention {
  torch::Tensor mixed;                 ///< [T, heads, d]
  torch::Tensor norm;                  ///< [heads, T] float32: log-sum-exp of a row's scores
  torch::Tensor random_state, unused;  ///< what flash attention wants back; undefined elsewhere
};

CausalAttention causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                 const PackLayout& layout, const AttentionRule& rule);

struct CausalGradient {
  torch::Tensor q, k, v;
};

/// `out`: mixed values and norms, of all that a row's probabilities are shared among; `grad`: with respect to
/// those values, [T, heads, d].
CausalGradient causal_attention_gradient(const torch::Tensor& grad, const torch::Tensor& q,
                                         const torch::Tensor& k, const torch::Tensor& v,
                                         const CausalAttention& out, const PackLayout& layout,
                                         const AttentionRule& rule);

}  // namespace augur
