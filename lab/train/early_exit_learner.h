#pragma once
#include <torch/torch.h>

#include <vector>

#include "lab/train/draft_vocabulary.h"
#include "lab/train/learner.h"
#include "lab/train/lesson.h"

namespace augur {

/// An adapter for drafting with a target's first layers (LayerSkip, Elhoushi et al. 2024, without training
/// the target): residual blocks x += silu(W x + b) on what leaves layer `exit_layer`, then the target's own
/// norm and head. Row t predicts token t + 1. Loss: cross-entropy against the whole target's softmax there.
class EarlyExitLearner final : public Learner {
 public:
  struct Options {
    int exit_layer = 8;
    int blocks = 2;
  };
  /// `vocabulary`: tokens that the loss is taken over. Error for an exit that is not inside the target.
  EarlyExitLearner(const TorchLlama& target, DraftVocabulary vocabulary, const Options& options);

  std::string title() const override { return "Early-exit adapter"; }
  NamedTensors parameters() override;
  Grade run(std::span<const Example> examples, bool learn) override;
  torch::Tensor draft_logits(const Example& example, std::int64_t root) override;

 protected:
  nlohmann::json config() const override;

 private:
  struct Block {
    torch::Tensor weight, bias;
  };
  /// Before the head, of rows [R] of the text. [R, hidden]
  torch::Tensor apply(const Lesson& lesson, const torch::Tensor& rows) const;

  const TorchLlama& target_;
  DraftVocabulary vocabulary_;
  Options options_;
  std::vector<int> taps_;
  torch::Tensor head_;  ///< the target's rows of vocabulary_
  std::vector<Block> blocks_;
};

}  // namespace augur
