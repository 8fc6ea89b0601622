#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "kernels/logit_form.h"
#include "model/config.h"

namespace augur {

// The transformer's operations for training: float32 residual stream, products in bfloat16, as the engine
// computes them. All are differentiable; T is the number of rows of a pack.

/// The type of all products, bfloat16 or float32, in the whole program. To be set before anything is trained.
torch::Dtype product_type();
void set_product_type(torch::Dtype type);

/// The product of two matrices of one type, or of as many as a batch [B, ., .] holds: of bfloat16 ones summed
/// in float32 and rounded once. libtorch's own does so on GPUs and, by oneDNN, on CPUs with AVX-512; what it
/// falls back on elsewhere may round every partial sum (Debian's 1.13: 1.6% off where this is 0.2%), so
/// float32 copies are multiplied there.
torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b);

/// x[T, in] W[out, in]^T (+ bias) in product_type(), which the result is of.
torch::Tensor linear_rows(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias = {});

/// What a target makes of its output matrix's results, in their type; computed in float32.
torch::Tensor shaped(const torch::Tensor& results, const LogitForm& form);

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension, float32.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

/// silu(gate) * up, in their type.
torch::Tensor silu_gated(const torch::Tensor& gate, const torch::Tensor& up);

/// Cosines and sines [positions, rotated dimensions], halves repeated; not defined: nothing is rotated.
struct Rotation {
  torch::Tensor cos;
  torch::Tensor sin;
  torch::Tensor growth = {};  ///< of queries [positions, 1, 1]; not defined: they do not grow
};
/// For positions [R] int64, on their device.
Rotation make_rotation(const RopeTable& table, const torch::Tensor& positions);
/// What the queries at these positions are multiplied by; not defined for growth that is none.
torch::Tensor query_growth(const QueryGrowth& growth, const torch::Tensor& positions);

/// Rotates the halves of the leading dimensions of x[T, heads, head_dim] by a rotation of T positions.
torch::Tensor rotate(const torch::Tensor& x, const Rotation& rotation);

/// Additive causal mask [T, T]: 0 on and below the diagonal, -infinity above, and, with a window, below the
/// last so many.
torch::Tensor causal_mask(std::int64_t length, torch::Device device, std::int64_t window = 0);

/// A tensor of the CPU's on a device. Work that is queued there is not waited for.
torch::Tensor on_device(const torch::Tensor& x, torch::Device device);

/// [n] int64, to pick rows with.
torch::Tensor index_tensor(const std::vector<std::int64_t>& indices, torch::Device device);

/// Random numbers that depend on `key` only: the CPU's, for they shall be the same on every device.
torch::Generator keyed_generator(std::uint64_t key);

/// A float32 parameter to train: a copy of `value` that collects gradients.
torch::Tensor trainable(const torch::Tensor& value, torch::Device device);
/// Normal numbers of variance 1/in: a product with it keeps the size of its input. [out, in], on the CPU
torch::Tensor random_matrix(std::int64_t out, std::int64_t in, torch::Generator& generator);

}  // namespace augur
