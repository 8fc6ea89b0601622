#include "lab/train/early_exit_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "lab/train/gradient_checkpoint.h"
#include "lab/train/vocabulary_loss.h"

namespace augur {

EarlyExitLearner::EarlyExitLearner(const TorchLlama& target, DraftVocabulary vocabulary,
                                   const Options& options)
    : target_(target),
      vocabulary_(vocabulary.on(target.device())),
      options_(options),
      taps_{options.exit_layer} {
  const int layers = target.config().layers;
  if (options.exit_layer < 1 || options.exit_layer >= layers) {
    throw Error("exit layer {}: expected 1 to {}, the target has {} layers", options.exit_layer, layers - 1,
                layers);
  }
  head_ = vocabulary_.rows(target.head());
  const std::int64_t h = target.config().hidden;
  // It starts as nothing at all: silu(0) is added.
  for (int i = 0; i < options.blocks; ++i) {
    blocks_.push_back(
        {trainable(torch::zeros({h, h}), target.device()), trainable(torch::zeros({h}), target.device())});
  }
}

NamedTensors EarlyExitLearner::parameters() {
  NamedTensors all;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    all.emplace_back(fmt::format("adapter.{}.weight", i), blocks_[i].weight);
    all.emplace_back(fmt::format("adapter.{}.bias", i), blocks_[i].bias);
  }
  return all;
}

torch::Tensor EarlyExitLearner::apply(const Lesson& lesson, const torch::Tensor& rows) const {
  torch::Tensor x = lesson.target.taps.front().index_select(0, rows);
  for (const Block& block : blocks_) {
    const auto run = [&block](const torch::Tensor& in) {
      return in + torch::silu(linear_rows(in, block.weight).to(torch::kFloat32) + block.bias);
    };
    x = checkpointed(gradient_checkpointing(), run, x, {block.weight, block.bias});
  }
  return target_.final_norm(x);
}

Grade EarlyExitLearner::run(std::span<const Example> examples, bool learn) {
  Grade grade(1);
  const Lesson lesson = prepare_lesson(target_, examples, taps_, &vocabulary_);
  if (lesson.empty()) return grade;
  const Lesson::Pairs pairs = lesson.pairs(0);
  if (pairs.rows.empty()) return grade;
  const torch::AutoGradMode mode(learn);
  const VocabularyLoss loss = vocabulary_loss(
      {.hidden = apply(lesson, index_tensor(pairs.rows, target_.device())),
       .weight = head_,
       .form = target_.logit_form()},
      {.targets = lesson.distributions, .wanted = index_tensor(pairs.wanted, target_.device())});
  grade.rows = std::ssize(pairs.rows);
  grade.count(0, loss.agreed.sum().item<std::int64_t>(), grade.rows);
  grade.loss = loss.sum.item<double>();
  if (learn) loss.sum.backward();
  return grade;
}

torch::Tensor EarlyExitLearner::draft_logits(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const Lesson lesson = prepare_lesson(target_, {&example, 1}, taps_, nullptr);
  const torch::Tensor rows = torch::arange(root, std::min(root + 3, lesson.length()), target_.device());
  return TorchHead{.hidden = apply(lesson, rows), .weight = head_, .form = target_.logit_form()}.logits();
}

nlohmann::json EarlyExitLearner::config() const {
  return {
      {"exit_layer", options_.exit_layer}, {"adapter_blocks", options_.blocks}, {"torch_dtype", "bfloat16"}};
}

}  // namespace augur
