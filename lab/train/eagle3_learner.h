#pragma once
#include "lab/train/recurrent_learner.h"

namespace augur {

/// EAGLE-3's draft head (Li et al. 2025): fed from three of the target's layers, a head of its own over a
/// reduced vocabulary, trained by seven steps of training-time test.
class Eagle3Learner final : public RecurrentLearner {
 public:
  struct Options {
    UnrollOptions unroll = {.steps = 7, .decay = 0.8, .evaluated = 7};
    std::uint64_t seed = 1;
    std::vector<int> taps;           ///< three layers; see default_taps
    std::vector<double> tap_scales;  ///< root mean square of each (tap_scales); empty: all 1
  };
  Eagle3Learner(const TorchLlama& target, DraftVocabulary vocabulary, const Options& options);

  std::string title() const override { return "EAGLE-3 draft head"; }
  NamedTensors parameters() override;
  bool is_table(std::string_view name) const override { return name == "lm_head.weight"; }

 protected:
  std::vector<int> taps() const override { return taps_; }
  torch::Tensor states(const Lesson& lesson, bool learn) const override;
  Entrance enter(const torch::Tensor& states, const torch::Tensor& embedded) const override;
  torch::Tensor exit(const torch::Tensor& out) const override {
    return rms_norm(out, norm_, shape().norm_eps);
  }
  TorchHead over_vocabulary(const torch::Tensor& hidden) const override {
    return {.hidden = hidden, .weight = head_};
  }
  NamedTensors constants() const override { return vocabulary_.maps(); }
  const DraftVocabulary* table_vocabulary() const override { return &vocabulary_; }
  nlohmann::json config() const override;

 private:
  std::vector<int> taps_;
  torch::Tensor fc_, head_;
  torch::Tensor hidden_norm_, input_norm_, norm_;
};

}  // namespace augur
