#pragma once
#include <torch/torch.h>

namespace augur {

/// What rows of logits are worth against target distributions.
struct RowGrades {
  torch::Tensor loss;      ///< [R] float32: cross-entropy
  torch::Tensor gradient;  ///< [R, V] bfloat16: d loss / d logits; undefined unless asked for
  torch::Tensor agreed;    ///< [R] bool: the largest logit is the target's largest probability
};

/// On the CPU, a row at a time, so that no float32 [R, V] is written.
/// logits, targets: [R, V] bfloat16, contiguous.
RowGrades grade_rows(const torch::Tensor& logits, const torch::Tensor& targets, bool learning);

/// The column of each row's largest value, the first of equal ones. x [R, V] bfloat16, contiguous, on the
/// CPU; -> [R] int64
torch::Tensor row_favourites(const torch::Tensor& x);

}  // namespace augur
