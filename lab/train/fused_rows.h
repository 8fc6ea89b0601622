#pragma once
#include <torch/torch.h>

namespace augur {

// Operations of a layer whose rows are worked through while they are in the core's cache, forwards and
// backwards: libtorch would pass over all rows for every operator in them. On the CPU only; differentiable.
// Results are float32 unless said otherwise, and do not depend on the number of threads. Tensors are float32
// or bfloat16.

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension. weight [n] float32
torch::Tensor normed_rows(const torch::Tensor& x, const torch::Tensor& weight, double eps);

/// silu(gate) * up of two matrices of one shape and type, which the result has, too: rounded once.
torch::Tensor gated_rows(const torch::Tensor& gate, const torch::Tensor& up);

/// Every head of x [T, heads, d] with its first dimensions' halves rotated by row t of `cos` and `sin`
/// [T, rotated dimensions], float32.
torch::Tensor rotated_rows(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin);

}  // namespace augur
