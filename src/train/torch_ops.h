#pragma once
#include <torch/torch.h>

#include "model/config.h"

namespace augur {

// The transformer's operations for training: float32 residual stream, products in bfloat16, as the engine
// computes them. All are differentiable; T is the sequence length.

/// x[T, in] W[out, in]^T (+ bias) in bfloat16; the result is bfloat16.
torch::Tensor linear_bf16(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias = {});

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension, float32.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

/// Cosines and sines [positions, head_dim], halves repeated, for rotating positions first..first+count-1.
struct Rotation {
  torch::Tensor cos;
  torch::Tensor sin;
};
Rotation make_rotation(const RopeTable& table, std::int64_t first, std::int64_t count);

/// Rotates the halves of x[T, heads, head_dim] by a rotation of T positions.
torch::Tensor rotate(const torch::Tensor& x, const Rotation& rotation);

/// [T, kv_heads, d] -> [heads, T, d], each kv head repeated for its query heads.
torch::Tensor spread_heads(const torch::Tensor& x, std::int64_t heads);

/// Additive causal mask [T, T]: 0 on and below the diagonal, -infinity above.
torch::Tensor causal_mask(std::int64_t length);

/// Soft cross-entropy of a vocabulary head, summed over rows: sum_r -sum_v q[r, v] log softmax(h[r] W^T)[v].
/// Works through the rows in chunks and computes the gradients on the way, so that no [rows, vocabulary]
/// tensor outlives its chunk (and stays in the cache). `rows` picks the rows of `targets`.
struct HeadLoss {
  torch::Tensor sum;    ///< scalar, differentiable in hidden and weight
  std::int64_t agreed;  ///< rows whose argmax is the target's
};
HeadLoss soft_cross_entropy(const torch::Tensor& hidden,   // [R, h]
                            const torch::Tensor& weight,   // [V, h]
                            const torch::Tensor& targets,  // [T, V] probabilities, bfloat16
                            const torch::Tensor& rows);    // [R] int64

/// Makes the allocator keep and reuse large blocks: page faults on fresh temporaries otherwise cost more
/// than the arithmetic. Call once, before the first tensor.
void keep_large_allocations();

}  // namespace augur
