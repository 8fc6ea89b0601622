#pragma once
#include <optional>

#include "lab/train/recurrent_learner.h"

namespace augur {

/// A multi-token prediction layer in FastMTP's form: embedding and state are each normed, projected together,
/// run through a decoder layer and a norm; what leaves the norm is the next state, and the target's head
/// reads it. Trained on its own outputs with weights decay^i. Or the norm is the target's own, and states are
/// what it takes ("shares_target_norm"): the part then holds nothing that began as a weight of the target,
/// and a final norm whose weights are far from one does not distort what the layer is fed.
class MtpLearner final : public RecurrentLearner {
 public:
  struct Options {
    UnrollOptions unroll = {.steps = 3, .decay = 0.6, .evaluated = 5};
    std::uint64_t seed = 1;
    bool shares_norm = false;                   ///< the target's final norm in place of its own
    std::optional<DraftVocabulary> vocabulary;  ///< distributions are learnt over; none: all
  };
  MtpLearner(const TorchLlama& target, const Options& options);

  std::string title() const override { return "Multi-token prediction layer"; }
  NamedTensors parameters() override;

 protected:
  torch::Tensor states(const Lesson& lesson, bool /*learn*/) const override {
    return shares_norm_ ? lesson.target.last : target_.final_norm(lesson.target.last);
  }
  Entrance enter(const torch::Tensor& states, const torch::Tensor& embedded) const override;
  torch::Tensor next_state(const torch::Tensor& out) const override { return shares_norm_ ? out : exit(out); }
  torch::Tensor exit(const torch::Tensor& out) const override {
    return shares_norm_ ? target_.final_norm(out) : rms_norm(out, final_norm_, shape().norm_eps);
  }
  nlohmann::json config() const override;

 private:
  bool shares_norm_;
  torch::Tensor projection_;
  torch::Tensor token_norm_, hidden_norm_, final_norm_;  ///< the last undefined with shares_norm_
};

}  // namespace augur
