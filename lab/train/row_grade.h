#pragma once
#include <torch/torch.h>

namespace augur {

// Rows of logits. On the CPU each is worked through while it is in the core's cache: libtorch's operations
// would pass over all rows a dozen times. Matrices are bfloat16 or float32
// and, on the CPU, contiguous.

/// What rows of logits are worth against target distributions.
struct RowGrades {
  torch::Tensor loss;    ///< [R] float32: weight * cross-entropy
  torch::Tensor agreed;  ///< [R] bool: the largest logit is the target's largest probability
};

/// On the CPU only. Row r of `logits` [R, V] is graded against row wanted[r] (int64) of `targets` [T, V].
/// `favourites` [T] int64: row_favourites(targets). `weights` [R] float32; undefined: all 1. With `learning`
/// d loss / d logits takes the place of the logits.
RowGrades grade_rows(torch::Tensor& logits, const torch::Tensor& targets, const torch::Tensor& favourites,
                     const torch::Tensor& wanted, const torch::Tensor& weights, bool learning);

/// The column of each row's largest value, the first of equal ones. x [R, V]; -> [R] int64
torch::Tensor row_favourites(const torch::Tensor& x);

/// out = softmax of each row of x. Both [R, V].
void row_softmax(const torch::Tensor& x, torch::Tensor& out);

}  // namespace augur
