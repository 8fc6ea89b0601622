#include "lab/train/dflash_learner.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/train/block_attention.h"
#include "lab/train/gradient_checkpoint.h"
#include "lab/train/vocabulary_loss.h"

namespace augur {

namespace {

ModelConfig layer_shape(const ModelConfig& target, const DflashLearner::Options& options) {
  ModelConfig shape = head_shape(target);
  shape.layers = options.layers;
  if (options.intermediate > 0) shape.intermediate = options.intermediate;
  shape.kinds[0].qk_norm = QkNorm::PerHead;
  return shape;
}

}  // namespace

DflashLearner::DflashLearner(const TorchLlama& target, DraftVocabulary vocabulary, const Options& options)
    : target_(target),
      options_(options),
      vocabulary_(vocabulary.on(target.device())),
      shape_(layer_shape(target.config(), options)),
      rope_(make_rope_table(shape_.rope(), shape_.head_dim, shape_.max_context)) {
  if (options_.mask_token < 0) options_.mask_token = shape_.vocab - 1;
  if (options_.mask_token >= shape_.vocab) {
    throw Error("mask token {}: the target has {} tokens", options_.mask_token, shape_.vocab);
  }
  const std::int64_t h = shape_.hidden;
  const auto taps = static_cast<std::int64_t>(options_.taps.size());
  const torch::Device device = target.device();
  torch::Generator generator = keyed_generator(options_.seed);
  torch::Tensor fc = random_matrix(h, taps * h, generator);
  for (std::size_t tap = 0; tap < options_.tap_scales.size(); ++tap) {
    const auto begin = static_cast<std::int64_t>(tap) * h;
    fc.slice(1, begin, begin + h) /= options_.tap_scales[tap];
  }
  fc_ = trainable(fc, device);
  hidden_norm_ = trainable(torch::ones({h}), device);
  for (int i = 0; i < options_.layers; ++i) layers_.push_back(TorchLayer::random(shape_, generator, device));
  norm_ = trainable(target.norm_weight(), device);
  if (!vocabulary_.is_full()) {
    head_ = vocabulary_.rows(target.head());
    if (!options_.shares_head) head_ = trainable(head_, device);
  }
  if (!options_.dspark) return;
  const std::int64_t rank = options_.markov_rank;
  markov_in_ = trainable(
      random_matrix(options_.shares_head ? vocabulary_.size() : shape_.vocab, rank, generator), device);
  markov_out_ = trainable(torch::zeros({vocabulary_.size(), rank}), device);
  confidence_ = trainable(torch::zeros({1, h + rank}), device);
  confidence_bias_ = trainable(torch::zeros({1}), device);
}

std::string DflashLearner::title() const {
  return fmt::format("{} block drafter ({} slots)", options_.dspark ? "DSpark" : "DFlash", options_.block);
}

NamedTensors DflashLearner::parameters() {
  NamedTensors all = {{"fc.weight", fc_}, {"hidden_norm.weight", hidden_norm_}, {"norm.weight", norm_}};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const auto& tensor : layers_[i].named(fmt::format("layers.{}.", i))) all.push_back(tensor);
  }
  if (head_.defined() && !options_.shares_head) all.emplace_back("lm_head.weight", head_);
  if (options_.dspark) {
    all.emplace_back("markov_head.markov_w1.weight", markov_in_);
    all.emplace_back("markov_head.markov_w2.weight", markov_out_);
    all.emplace_back("confidence_head.proj.weight", confidence_);
    all.emplace_back("confidence_head.proj.bias", confidence_bias_);
  }
  return all;
}

std::vector<std::int64_t> DflashLearner::pick_anchors(const Lesson& lesson) const {
  std::vector<std::int64_t> picked;
  for (const Lesson::Sequence& s : lesson.sequences) {
    std::vector<std::int64_t> candidates;
    for (std::int64_t row = s.begin + 1; row < s.begin + s.length; ++row) {
      if (lesson.row_of[static_cast<std::size_t>(row)] >= 0) candidates.push_back(row);
    }
    const auto wanted = static_cast<std::size_t>(options_.anchors);
    if (candidates.size() > wanted) {
      torch::Generator generator = keyed_generator(s.key);
      const torch::Tensor order = torch::randperm(std::ssize(candidates), generator);
      std::vector<std::int64_t> some;
      for (std::size_t i = 0; i < wanted; ++i)
        some.push_back(candidates[static_cast<std::size_t>(order.data_ptr<std::int64_t>()[i])]);
      std::sort(some.begin(), some.end());
      candidates = std::move(some);
    }
    picked.insert(picked.end(), candidates.begin(), candidates.end());
  }
  return picked;
}

torch::Tensor DflashLearner::run_blocks(const Lesson& lesson,
                                        const std::vector<std::int64_t>& anchors) const {
  const double eps = shape_.norm_eps;
  const std::int64_t size = options_.block;
  const auto blocks = std::ssize(anchors);
  const torch::Device device = target_.device();
  const BlockSight sight(lesson, anchors, size, device);
  const torch::Tensor context =
      rms_norm(linear_rows(torch::cat(lesson.target.taps, 1), fc_), hidden_norm_, eps);
  const Rotation text_rotation = make_rotation(rope_, PackLayout(lesson.lengths(), device).positions());
  const Rotation rotation = make_rotation(rope_, sight.positions());

  const torch::Tensor anchor_rows =
      lesson.embedded.index_select(0, index_tensor(anchors, device)).unsqueeze(1);
  const torch::Tensor placeholder = target_.embed(index_tensor({options_.mask_token}, device)).unsqueeze(0);
  torch::Tensor x =
      torch::cat({anchor_rows, placeholder.expand({blocks, size - 1, -1})}, 1).reshape({blocks * size, -1});
  for (const TorchLayer& layer : layers_) {
    const auto run = [=, this, &layer](const std::vector<torch::Tensor>& in) {
      const Attended seen = project_context(layer, shape_, in[1], text_rotation);
      const Attended own = project(layer, shape_, rms_norm(in[0], layer.input_norm, eps), rotation);
      const torch::Tensor mixed =
          block_attention(own.q, seen.k, seen.v, own.k, own.v, sight, attention_rule(layer, shape_).scale);
      return std::vector<torch::Tensor>{
          feed_forward(layer, shape_, in[0] + attention_output(layer, shape_, mixed))};
    };
    x = checkpointed(gradient_checkpointing(), run, std::vector<torch::Tensor>{x, context},
                     values_of(layer.named("")))[0];
  }
  return rms_norm(x, norm_, eps);
}

torch::Tensor DflashLearner::markov_embedding(const torch::Tensor& tokens) const {
  if (!options_.shares_head || vocabulary_.is_full()) return markov_in_.index_select(0, tokens);
  const torch::Tensor entries = vocabulary_.entries(tokens);
  return markov_in_.index_select(0, entries.clamp_min(0)) * (entries >= 0).unsqueeze(1);
}

torch::Tensor DflashLearner::confidence(const torch::Tensor& states, const torch::Tensor& before) const {
  const torch::Tensor input = torch::cat({states, before}, 1);
  return (input.mm(confidence_.t()) + confidence_bias_).squeeze(1);
}

Grade DflashLearner::run(std::span<const Example> examples, bool learn) {
  Grade grade(depths());
  const Lesson lesson = prepare_lesson(target_, examples, options_.taps, &vocabulary_);
  if (lesson.empty()) return grade;
  const std::vector<std::int64_t> anchors = pick_anchors(lesson);
  if (anchors.empty()) return grade;
  const torch::AutoGradMode mode(learn);
  const torch::Tensor states = run_blocks(lesson, anchors);

  std::vector<std::int64_t> rows, wanted, before, depth;
  std::vector<float> weights;
  auto sequence = lesson.sequences.begin();
  for (std::size_t a = 0; a < anchors.size(); ++a) {
    while (anchors[a] >= sequence->begin + sequence->length) ++sequence;
    for (int d = 0; d < depths() && anchors[a] + d < sequence->begin + sequence->length; ++d) {
      const std::int64_t row = lesson.row_of[static_cast<std::size_t>(anchors[a] + d)];
      if (row < 0) continue;
      rows.push_back(static_cast<std::int64_t>(a) * options_.block + d + first_slot());
      wanted.push_back(row);
      before.push_back(anchors[a] + d);
      depth.push_back(d);
      weights.push_back(static_cast<float>(std::exp(-d / options_.gamma)));
    }
  }
  const torch::Device device = target_.device();
  TorchHead out{
      .hidden = states.index_select(0, index_tensor(rows, device)), .weight = head(), .form = form()};
  VocabularyTargets targets{.targets = lesson.distributions,
                            .wanted = index_tensor(wanted, device),
                            .weights = on_device(torch::tensor(weights), device)};
  torch::Tensor markov;
  if (options_.dspark) {
    markov = markov_embedding(lesson.ids.index_select(0, index_tensor(before, device)));
    out.extra = markov;
    out.extra_weight = markov_out_;
    targets.cross_entropy = 0.1;
    targets.l1 = 0.9;
  }
  const VocabularyLoss loss = vocabulary_loss(out, targets);
  torch::Tensor total = loss.sum;
  if (options_.dspark) {
    const torch::Tensor chance = 1 - loss.distance;
    total = total + (torch::binary_cross_entropy_with_logits(confidence(out.hidden, markov), chance, {}, {},
                                                             at::Reduction::None) *
                     targets.weights)
                        .sum();
  }
  if (learn) total.backward();
  const torch::Tensor hits = loss.agreed.cpu();
  const bool* agreed = hits.data_ptr<bool>();
  for (std::size_t i = 0; i < rows.size(); ++i) grade.count(static_cast<int>(depth[i]), agreed[i] ? 1 : 0, 1);
  grade.rows = static_cast<std::int64_t>(anchors.size());
  grade.loss = total.item<double>();
  return grade;
}

torch::Tensor DflashLearner::draft_logits(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const Lesson lesson = prepare_lesson(target_, {&example, 1}, options_.taps, nullptr);
  const std::int64_t count = std::min<std::int64_t>(depths(), lesson.length() - root);
  const torch::Tensor states = run_blocks(lesson, {root}).slice(0, first_slot(), first_slot() + count);
  TorchHead out{.hidden = states, .weight = head(), .form = form()};
  if (options_.dspark) {
    out.extra = markov_embedding(lesson.ids.slice(0, root, root + count));
    out.extra_weight = markov_out_;
  }
  return out.logits();
}

torch::Tensor DflashLearner::draft_confidence(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const Lesson lesson = prepare_lesson(target_, {&example, 1}, options_.taps, nullptr);
  const std::int64_t count = std::min<std::int64_t>(depths(), lesson.length() - root);
  const torch::Tensor states = run_blocks(lesson, {root}).slice(0, first_slot(), first_slot() + count);
  return confidence(states, markov_embedding(lesson.ids.slice(0, root, root + count))).sigmoid();
}

nlohmann::json DflashLearner::config() const {
  const ModelConfig& c = shape_;
  std::vector<int> outputs;  // published: ids of layers whose outputs are meant
  for (const int entered : options_.taps) outputs.push_back(entered - 1);
  nlohmann::json config = {
      {"architectures", {options_.dspark ? "DSparkDraftModel" : "DFlashDraftModel"}},
      {"model_type", "qwen3"},
      {"hidden_size", c.hidden},
      {"intermediate_size", c.intermediate},
      {"num_hidden_layers", options_.layers},
      {"num_attention_heads", c.heads},
      {"num_key_value_heads", c.kv_heads},
      {"head_dim", c.head_dim},
      {"hidden_act", "silu"},
      {"attention_bias", false},
      {"rms_norm_eps", c.norm_eps},
      {"rope_theta", c.rope().theta},
      {"max_position_embeddings", c.max_context},
      {"vocab_size", c.vocab},
      {"tie_word_embeddings", false},
      {"layer_types", std::vector<std::string>(static_cast<std::size_t>(options_.layers), "full_attention")},
      {"block_size", options_.block},
      {"num_target_layers", target_.config().layers},
      {"torch_dtype", "bfloat16"},
      {"dflash_config",
       {{"target_layer_ids", outputs},
        {"mask_token_id", options_.mask_token},
        {"sample_from_anchor", options_.dspark}}}};
  if (!vocabulary_.is_full()) config["draft_vocab_size"] = vocabulary_.size();
  if (options_.shares_head) config["shares_target_head"] = true;
  if (options_.dspark) {
    config["markov_rank"] = options_.markov_rank;
    config["markov_head_type"] = "vanilla";
    config["enable_confidence_head"] = true;
    config["confidence_head_with_markov"] = true;
  }
  return config;
}

}  // namespace augur
