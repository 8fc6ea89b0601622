#pragma once
#include <optional>

#include "lab/train/recurrent_learner.h"

namespace augur {

/// A multi-token prediction layer in FastMTP's form: embedding and state are each normed, projected together,
/// run through a decoder layer and a norm; what leaves the norm is the next state, and the target's head
/// reads it. Trained on its own outputs with weights decay^i.
///
/// The norms start such that the layer's stream is white: the state's norm divides each of its numbers by its
/// usual size, the final one gives it back. Final norms of targets differ by a factor of 100 between
/// dimensions (Gemma 3), and random weights that add to all of them alike begin far off.
class MtpLearner final : public RecurrentLearner {
 public:
  struct Options {
    UnrollOptions unroll = {.steps = 3, .decay = 0.6, .evaluated = 5};
    std::uint64_t seed = 1;
    std::optional<DraftVocabulary> vocabulary;  ///< distributions are learnt over; none: all
    /// state_scales() of the data, [hidden] on the target's device; undefined: its final norm's weights.
    torch::Tensor state_scales;
  };
  MtpLearner(const TorchLlama& target, const Options& options);

  std::string title() const override { return "Multi-token prediction layer"; }
  NamedTensors parameters() override;

 protected:
  torch::Tensor states(const Lesson& lesson, bool /*learn*/) const override {
    return target_.final_norm(lesson.target.last);
  }
  Entrance enter(const torch::Tensor& states, const torch::Tensor& embedded) const override;
  torch::Tensor next_state(const torch::Tensor& out) const override { return exit(out); }
  torch::Tensor exit(const torch::Tensor& out) const override {
    return rms_norm(out, final_norm_, shape().norm_eps);
  }
  nlohmann::json config() const override;

 private:
  torch::Tensor projection_;
  torch::Tensor token_norm_, hidden_norm_, final_norm_;
};

}  // namespace augur
