#pragma once
#include <torch/torch.h>

#include "kernels/logit_form.h"

namespace augur {

/// Rows that go through a vocabulary head: logits = form(hidden W^T (+ bias)) (+ extra E^T), as the
/// engine adds DSpark's bias behind the target's cap.
struct TorchHead {
  torch::Tensor hidden;        ///< [R, h]
  torch::Tensor weight;        ///< [V, h]
  torch::Tensor extra;         ///< [R, r]; undefined: none
  torch::Tensor extra_weight;  ///< [V, r]
  torch::Tensor bias;          ///< [V]; undefined: none
  LogitForm form = {};         ///< the target's where the matrix is

  /// [R, V] float32.
  torch::Tensor logits() const;
};

/// What the rows should say. `wanted` are indices [R] into `targets`: [T, V] probabilities in product_type(),
/// or [T] int64 tokens. The loss of a row is weight * (cross_entropy * CE(p, q) + l1 * sum |q - p|), with p
/// the target and q the head's softmax.
struct VocabularyTargets {
  torch::Tensor targets;
  torch::Tensor wanted;
  torch::Tensor weights;  ///< [R] float32; undefined: all 1
  double cross_entropy = 1;
  double l1 = 0;  ///< for probabilities only
};

struct VocabularyLoss {
  torch::Tensor sum;       ///< scalar over rows, differentiable in the head's tensors
  torch::Tensor agreed;    ///< [R] bool: the largest logit is the target's largest probability
  torch::Tensor distance;  ///< [R] total variation between q and p; undefined unless l1 != 0
};

/// Works through the rows in chunks and computes the gradients on the way, so that no [rows, vocabulary]
/// tensor outlives its chunk (and stays in the cache).
VocabularyLoss vocabulary_loss(const TorchHead& head, const VocabularyTargets& targets);

}  // namespace augur
