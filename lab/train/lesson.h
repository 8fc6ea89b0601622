#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <vector>

#include "lab/corpus/dataset.h"
#include "lab/train/draft_vocabulary.h"
#include "lab/train/torch_llama.h"

namespace augur {

/// What the target says about sequences, whose rows lie one after another: the hidden states that a head is
/// fed, and what it should predict. T is the sum of their lengths. Tensors are on the target's device.
struct Lesson {
  struct Sequence {
    std::int64_t begin;  ///< its first row
    std::int64_t length;
    std::uint64_t key;  ///< of this visit (Example)
  };
  std::vector<Sequence> sequences;
  torch::Tensor ids;          ///< [T] int64
  torch::Tensor embedded;     ///< [T, hidden] float32, the target's embedding
  TorchLlama::Output target;  ///< but for its favourites
  /// The target's softmax over the draft vocabulary at the positions to learn from, in product_type(), and by
  /// position the row that holds what follows its token; -1 where there is nothing to learn: the next token
  /// is not one to be learnt, or the target's favourite is not in the draft vocabulary.
  torch::Tensor distributions;
  std::vector<std::int64_t> row_of;

  std::int64_t length() const { return std::ssize(row_of); }
  bool empty() const { return !distributions.defined(); }

  /// Where row i predicts what follows the token `ahead` rows later: the rows with something to learn, and
  /// their rows of `distributions`.
  struct Pairs {
    std::vector<std::int64_t> rows, wanted;
  };
  Pairs pairs(std::int64_t ahead) const;
  std::vector<std::int64_t> lengths() const;
};

/// Without `vocabulary` no distributions are made. `head`: the rows of the target's head for the vocabulary's
/// tokens, where they are at hand.
Lesson prepare_lesson(const TorchLlama& target, std::span<const Example> examples, std::span<const int> taps,
                      const DraftVocabulary* vocabulary, const torch::Tensor& head = {});

/// Root mean square of each tap over the first sequences of a dataset, for initial weights: the residual
/// stream has its own scale at every layer. First positions, whose states are outliers, do not count.
std::vector<double> tap_scales(const TorchLlama& target, const Dataset& data, std::span<const int> taps);
/// Of every dimension of the state behind the final norm likewise. [hidden] float32
torch::Tensor state_scales(const TorchLlama& target, const Dataset& data);

}  // namespace augur
