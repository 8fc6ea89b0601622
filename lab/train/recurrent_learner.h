#pragma once
#include <torch/torch.h>

#include <vector>

#include "lab/train/learner.h"
#include "lab/train/lesson.h"
#include "lab/train/vocabulary_loss.h"

namespace augur {

/// How a recurrent head is trained on its own outputs.
struct UnrollOptions {
  int steps = 1;       ///< that the loss sees
  double decay = 1.0;  ///< weight of step i is decay^i
  int evaluated = 1;   ///< steps that an evaluation grades (at least `steps`)
};

/// Trains a draft head of the EAGLE kind (the engine's RecurrentHead) by EAGLE-3's training-time test (Li et
/// al. 2025): the head runs several steps on its own outputs. Loss of a step: soft cross-entropy against the
/// target's softmax over the draft vocabulary, at positions to learn, and what a head adds.
///
/// Row i pairs the target's state at position i with token i+1. In step s row i takes its own output of step
/// s-1 and token i+1+s, sits at rotary position i+s, and attends to step 0's rows 0..i and to its own rows of
/// steps 1..s. It predicts token i+2+s.
class RecurrentLearner : public Learner {
 public:
  Grade run(std::span<const Example> examples, bool learn) override;
  torch::Tensor draft_logits(const Example& example, std::int64_t root) override;

 protected:
  RecurrentLearner(const TorchLlama& target, DraftVocabulary vocabulary, const UnrollOptions& options);

  /// What the layer is given: the input of its attention, and the residual stream that it adds to.
  struct Entrance {
    torch::Tensor attention;
    torch::Tensor residual;
  };
  /// Layers that it is fed from.
  virtual std::vector<int> taps() const { return {}; }
  /// The states that stand for the target's, [T, state] float32. `learn`: with the noise of their visits.
  virtual torch::Tensor states(const Lesson& lesson, bool learn) const = 0;
  virtual Entrance enter(const torch::Tensor& states, const torch::Tensor& embedded) const = 0;
  /// The state of the next step, from what leaves the layer.
  virtual torch::Tensor next_state(const torch::Tensor& out) const { return out; }
  /// What the vocabulary head takes, from what leaves the layer.
  virtual torch::Tensor exit(const torch::Tensor& out) const = 0;
  /// What it is over the draft vocabulary: by the target's matrix, unless the head has its own.
  virtual TorchHead over_vocabulary(const torch::Tensor& hidden) const {
    return {.hidden = hidden, .weight = target_head_, .form = target_.logit_form()};
  }
  /// Further loss of step 0's output rows, where rows[i] stands for the target's state at rows[i] + 1;
  /// summed.
  virtual torch::Tensor state_loss(const Lesson&, const torch::Tensor& /*out*/,
                                   const torch::Tensor& /*rows*/) const {
    return {};
  }
  virtual double cross_entropy_weight() const { return 1; }

  const ModelConfig& shape() const { return shape_; }
  /// What config.json says of the layer.
  nlohmann::json layer_config() const;

  const TorchLlama& target_;
  DraftVocabulary vocabulary_;
  TorchLayer layer_;  ///< made by the derived class

 private:
  class Unrolled;
  /// What a step's layer uses.
  std::vector<torch::Tensor> step_parameters();
  struct Graded;

  UnrollOptions options_;
  ModelConfig shape_;  ///< of the head's layer
  RopeTable rope_;
  torch::Tensor target_head_;  ///< rows of the target's, for vocabulary_
};

}  // namespace augur
