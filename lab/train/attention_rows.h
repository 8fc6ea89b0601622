#pragma once
#include <torch/torch.h>

#include "lab/train/packed_attention.h"

namespace augur {

// Matrices of causal scores [N, R, K], float32 or bfloat16: row r of each is at position r % K, and sees the
// columns up to that. `products`, of queries and keys, are neither scaled nor capped yet. On the CPU each row
// is worked through while it is in the core's cache, as in row_grade.h, and what it does not see is not even
// read.

/// Makes probabilities of products, in their place. Returns the log-sum-exp of each row's scores, [N, R]
/// float32.
torch::Tensor softmax_rows(torch::Tensor& products, const AttentionRule& rule);

/// The gradient of such a softmax. In place: products become the probabilities exp(score - norm), and the
/// gradients of the probabilities those of the products. `shared` [N, R] float32: sum of probability times
/// gradient, of all that a row's probabilities are shared among.
void softmax_rows_gradient(torch::Tensor& products, torch::Tensor& gradients, const torch::Tensor& norm,
                           const torch::Tensor& shared, const AttentionRule& rule);

}  // namespace augur
