#include "lab/train/mtp_learner.h"

#include <nlohmann/json.hpp>

#include "lab/train/eagle_learner.h"

namespace augur {

namespace {
constexpr const char* kLayer = "mtp_layers.0.";
}

MtpLearner::MtpLearner(const TorchLlama& target, const Options& options)
    : RecurrentLearner(target, options.vocabulary.value_or(DraftVocabulary(target.config().vocab)),
                       options.unroll) {
  const std::int64_t h = shape().hidden;
  torch::Generator generator = keyed_generator(options.seed);
  projection_ = pair_projection(target, true, generator);
  layer_ = TorchLayer::random(shape(), generator, target.device());
  token_norm_ = trainable(torch::ones({h}), target.device());
  const torch::Tensor scales =
      options.state_scales.defined() ? options.state_scales : target.norm_weight().detach();
  hidden_norm_ = trainable(scales.square().mean().sqrt() / scales, target.device());
  final_norm_ = trainable(scales, target.device());
}

NamedTensors MtpLearner::parameters() {
  const std::string at = kLayer;
  NamedTensors all = {{at + "input_proj.weight", projection_},
                      {at + "token_layernorm.weight", token_norm_},
                      {at + "hidden_layernorm.weight", hidden_norm_},
                      {at + "final_layernorm.weight", final_norm_}};
  for (const auto& tensor : layer_.named(at)) all.push_back(tensor);
  return all;
}

RecurrentLearner::Entrance MtpLearner::enter(const torch::Tensor& states,
                                             const torch::Tensor& embedded) const {
  const double eps = shape().norm_eps;
  const torch::Tensor pair =
      torch::cat({rms_norm(embedded, token_norm_, eps), rms_norm(states, hidden_norm_, eps)}, 1);
  const torch::Tensor x = linear_rows(pair, projection_).to(torch::kFloat32);
  return {rms_norm(x, layer_.input_norm, eps), x};
}

nlohmann::json MtpLearner::config() const {
  nlohmann::json config = layer_config();
  config["architectures"] = {"MtpSpeculator"};
  return config;
}

}  // namespace augur
