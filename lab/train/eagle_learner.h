#pragma once
#include <optional>

#include "lab/train/recurrent_learner.h"

namespace augur {

/// The head of EAGLE-1 and EAGLE-2 (Li et al. 2024), which learns to predict the target's next hidden state
/// (after its final norm): smooth L1 on the state, and a little cross-entropy through the target's own head.
/// Its inputs carry uniform noise in training, since in use they are its own outputs.
class EagleLearner final : public RecurrentLearner {
 public:
  struct Options {
    double state_weight = 1.0;  ///< of smooth L1, a mean over the state's width
    double cross_entropy = 0.1;
    double noise = 0.2;  ///< uniform in +-noise/2 * 512/T, as published
    int evaluated = 5;   ///< depths that an evaluation grades
    std::uint64_t seed = 1;
    std::optional<DraftVocabulary> vocabulary;  ///< distributions are learnt over; none: all
  };
  EagleLearner(const TorchLlama& target, const Options& options);

  std::string title() const override { return "EAGLE draft head (EAGLE-1 and EAGLE-2)"; }
  NamedTensors parameters() override;

 protected:
  torch::Tensor states(const Lesson& lesson, bool learn) const override;
  Entrance enter(const torch::Tensor& states, const torch::Tensor& embedded) const override;
  torch::Tensor exit(const torch::Tensor& out) const override { return out; }
  torch::Tensor state_loss(const Lesson& lesson, const torch::Tensor& out,
                           const torch::Tensor& rows) const override;
  double cross_entropy_weight() const override { return options_.cross_entropy; }
  nlohmann::json config() const override;

 private:
  Options options_;
  torch::Tensor fc_;
};

/// [out, 2 * out]: takes an embedding (of the table's scale) and a state; starts as the state with a mix of
/// both.
torch::Tensor pair_projection(const TorchLlama& target, bool normed, torch::Generator& generator);

}  // namespace augur
