#include "lab/train/eagle_learner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/philox.h"

namespace augur {

namespace {

/// Numbers in +-width/2 that depend on their place and `key` only.
void fill_uniformly(float* out, std::int64_t count, std::uint64_t key, float width) {
  constexpr float kStep = 0x1p-24f;
  for (std::int64_t i = 0; i < count; i += 4) {
    const auto drawn =
        philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0}, key);
    for (std::int64_t j = 0; j < std::min<std::int64_t>(4, count - i); ++j)
      out[i + j] = (static_cast<float>(drawn[static_cast<std::size_t>(j)] >> 8) * kStep - 0.5f) * width;
  }
}

}  // namespace

torch::Tensor pair_projection(const TorchLlama& target, bool normed, torch::Generator& generator) {
  constexpr double kMixed = 0.5;  // of the state's own size
  const std::int64_t h = target.config().hidden;
  torch::Tensor projection = random_matrix(h, 2 * h, generator) * kMixed;
  if (!normed) {
    const double scale = target.embedding().to(torch::kFloat32).square().mean().sqrt().item<double>();
    projection.slice(1, 0, h) /= scale;
  }
  projection.slice(1, h, 2 * h) += torch::eye(h);
  return trainable(projection, target.device());
}

EagleLearner::EagleLearner(const TorchLlama& target, const Options& options)
    : RecurrentLearner(target, options.vocabulary.value_or(DraftVocabulary(target.config().vocab)),
                       {.steps = 1, .decay = 1, .evaluated = options.evaluated}),
      options_(options) {
  torch::Generator generator = keyed_generator(options.seed);
  fc_ = pair_projection(target, false, generator);
  layer_ = TorchLayer::random(shape(), generator, target.device(), 0, false);
}

NamedTensors EagleLearner::parameters() {
  NamedTensors all = {{"fc.weight", fc_}};
  for (const auto& tensor : layer_.named("layers.0.")) all.push_back(tensor);
  return all;
}

torch::Tensor EagleLearner::states(const Lesson& lesson, bool learn) const {
  const torch::Tensor states = target_.final_norm(lesson.target.last);
  if (!learn || options_.noise == 0) return states;
  torch::Tensor noise = torch::empty({lesson.length(), states.size(1)});
  for (const Lesson::Sequence& s : lesson.sequences) {
    fill_uniformly(noise.data_ptr<float>() + s.begin * states.size(1), s.length * states.size(1), s.key,
                   static_cast<float>(options_.noise * 512.0 / static_cast<double>(s.length)));
  }
  return states + on_device(noise, states.device());
}

RecurrentLearner::Entrance EagleLearner::enter(const torch::Tensor& states,
                                               const torch::Tensor& embedded) const {
  const torch::Tensor x = linear_rows(torch::cat({embedded, states}, 1), fc_).to(torch::kFloat32);
  return {x, x};
}

torch::Tensor EagleLearner::state_loss(const Lesson& lesson, const torch::Tensor& out,
                                       const torch::Tensor& rows) const {
  const torch::Tensor wanted = target_.final_norm(lesson.target.last.index_select(0, rows + 1));
  const torch::Tensor loss = torch::smooth_l1_loss(out, wanted, at::Reduction::None);
  return loss.mean(-1).sum() * options_.state_weight;
}

nlohmann::json EagleLearner::config() const {
  nlohmann::json config = layer_config();
  config["architectures"] = {"LlamaForCausalLMEagle"};
  config["bias"] = false;
  return config;
}

}  // namespace augur
