#include "lab/train/eagle3_learner.h"

#include <nlohmann/json.hpp>

namespace augur {

namespace {

constexpr const char* kLayer = "midlayer.";

/// The head starts near the end of the target: what is projected is the last tap with a little of the others,
/// brought to the size of 1 since what leaves a layer is far from it.
torch::Tensor initial_projection(std::int64_t h, const std::vector<double>& tap_scales,
                                 torch::Generator& generator) {
  constexpr double kRest = 0.1;
  torch::Tensor fc = kRest * random_matrix(h, 3 * h, generator);
  fc.slice(1, 2 * h, 3 * h) += torch::eye(h);
  for (std::size_t tap = 0; tap < tap_scales.size(); ++tap) {
    const auto begin = static_cast<std::int64_t>(tap) * h;
    fc.slice(1, begin, begin + h) /= tap_scales[tap];
  }
  return fc;
}

/// The target's last layer; attention reads the state as it does there, and embeddings by random weights.
TorchLayer initial_layer(const TorchLlama& target, torch::Generator& generator) {
  constexpr double kEmbedding = 0.5;
  const std::int64_t h = target.config().hidden;
  const TorchLayer& last = target.layer(target.config().layers - 1);
  TorchLayer layer =
      TorchLayer::random(head_shape(target.config()), generator, target.device(), 2 * h, false);
  const torch::NoGradGuard no_grad;
  const auto widen = [&](torch::Tensor& matrix, const torch::Tensor& from) {
    matrix.slice(1, 0, h).mul_(kEmbedding);
    matrix.slice(1, h, 2 * h).copy_(from);
  };
  widen(layer.q, last.q);
  widen(layer.k, last.k);
  widen(layer.v, last.v);
  layer.o.copy_(last.o);
  layer.gate.copy_(last.gate);
  layer.up.copy_(last.up);
  layer.down.copy_(last.down);
  if (last.post_norm.defined()) layer.post_norm.copy_(last.post_norm);
  if (layer.q_norm.defined()) {
    layer.q_norm.copy_(last.q_norm);
    layer.k_norm.copy_(last.k_norm);
  }
  return layer;
}

}  // namespace

Eagle3Learner::Eagle3Learner(const TorchLlama& target, DraftVocabulary vocabulary, const Options& options)
    : RecurrentLearner(target, std::move(vocabulary), options.unroll), taps_(options.taps) {
  const std::int64_t h = shape().hidden;
  torch::Generator generator = keyed_generator(options.seed);
  const torch::Device device = target.device();
  fc_ = trainable(initial_projection(h, options.tap_scales, generator), device);
  layer_ = initial_layer(target, generator);
  const torch::Tensor last_norm = target.layer(target.config().layers - 1).input_norm;
  hidden_norm_ = trainable(last_norm.defined() ? last_norm : torch::ones({h}), device);
  input_norm_ = trainable(torch::ones({h}), device);
  norm_ = trainable(target.norm_weight(), device);
  head_ = trainable(vocabulary_.rows(target.head()), device);
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

torch::Tensor Eagle3Learner::states(const Lesson& lesson, bool /*learn*/) const {
  return linear_rows(torch::cat(lesson.target.taps, 1), fc_).to(torch::kFloat32);
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
