#include "train/eagle3_learner.h"

#include <nlohmann/json.hpp>

namespace augur {

namespace {
constexpr const char* kLayer = "midlayer.";
}

Eagle3Learner::Eagle3Learner(const TorchLlama& target, DraftVocabulary vocabulary, const Options& options)
    : RecurrentLearner(target, std::move(vocabulary), options.unroll), taps_(options.taps) {
  const std::int64_t h = shape().hidden;
  torch::Generator generator = keyed_generator(options.seed);
  // The projection starts by undoing the taps' scales, which are far from 1, so that what the layer adds
  // weighs as much as what it is added to.
  torch::Tensor fc = random_matrix(h, 3 * h, generator);
  for (std::size_t tap = 0; tap < options.tap_scales.size(); ++tap) {
    const auto begin = static_cast<std::int64_t>(tap) * h;
    fc.slice(1, begin, begin + h) /= options.tap_scales[tap];
  }
  fc_ = trainable(fc);
  layer_ = TorchLayer::random(shape(), generator, 2 * h, false);
  hidden_norm_ = trainable(torch::ones({h}));
  input_norm_ = trainable(torch::ones({h}));
  norm_ = trainable(torch::ones({h}));
  head_ = trainable(vocabulary_.rows(target.head()));
}

NamedTensors Eagle3Learner::parameters() {
  NamedTensors all = {{"fc.weight", fc_}};
  for (const auto& tensor : layer_.named(kLayer)) all.push_back(tensor);
  all.emplace_back("midlayer.hidden_norm.weight", hidden_norm_);
  all.emplace_back("midlayer.input_layernorm.weight", input_norm_);
  all.emplace_back("norm.weight", norm_);
  all.emplace_back("lm_head.weight", head_);
  return all;
}

torch::Tensor Eagle3Learner::states(const Lesson& lesson, const std::uint64_t*) const {
  return linear_bf16(torch::cat(lesson.target.taps, 1), fc_).to(torch::kFloat32);
}

RecurrentLearner::Entrance Eagle3Learner::enter(const torch::Tensor& states,
                                                const torch::Tensor& embedded) const {
  const double eps = shape().norm_eps;
  return {torch::cat({rms_norm(embedded, input_norm_, eps), rms_norm(states, hidden_norm_, eps)}, 1), states};
}

nlohmann::json Eagle3Learner::config() const {
  nlohmann::json config = layer_config();
  config["architectures"] = {"LlamaForCausalLMEagle3"};
  config["target_hidden_size"] = shape().hidden;
  config["draft_vocab_size"] = vocabulary_.size();
  config["eagle_aux_hidden_state_layer_ids"] = taps_;
  return config;
}

}  // namespace augur
