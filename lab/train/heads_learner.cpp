#include "lab/train/heads_learner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/train/gradient_checkpoint.h"

namespace augur {

namespace {
constexpr const char* kPrefix = "prefix_embeding_layer.";  // as published
}

HeadsLearner::HeadsLearner(const TorchLlama& target, const Options& options)
    : target_(target),
      options_(options),
      vocabulary_(options.vocabulary.value_or(DraftVocabulary(target.config().vocab)).on(target.device())),
      shape_(head_shape(target.config())),
      rope_(make_rope_table(shape_.rope(), shape_.head_dim, shape_.max_context)) {
  if (options.shares_head) {
    shared_head_ = vocabulary_.rows(target.head());
  } else if (!vocabulary_.is_full()) {
    throw Error("heads with output matrices of their own learn the whole vocabulary");
  }
  const std::int64_t h = target.config().hidden;
  const torch::Device device = target.device();
  // Every head starts as the target's own: blocks add silu(0), an entry passes the state on.
  const auto zero = [&](std::int64_t in) {
    return Block{trainable(torch::zeros({h, in}), device), trainable(torch::zeros({h}), device)};
  };
  for (int d = 0; d < options.heads; ++d) {
    Head head;
    const std::int64_t inputs = (d + 2) * h;
    if (options.grounded) {
      head.entry = zero(inputs);
      head.entry_residual = {trainable(torch::eye(h, inputs), device), trainable(torch::zeros({h}), device)};
    }
    for (int i = options.grounded ? 1 : 0; i < options.layers; ++i) head.blocks.push_back(zero(h));
    if (options.shares_head) {
      head.output.weight = shared_head_;
    } else {
      head.output.weight = trainable(target.head(), device);
      if (options.grounded) head.output.bias = trainable(torch::zeros({target.config().vocab}), device);
    }
    heads_.push_back(std::move(head));
  }
  if (options.prefix) {
    torch::Generator generator = keyed_generator(options.seed);
    prefix_ = TorchLayer::random(shape_, generator, device);
    prefix_norm_ = trainable(target.norm_weight(), device);
  }
}

std::string HeadsLearner::title() const {
  return options_.prefix ? "Hydra++ heads" : options_.grounded ? "Hydra heads" : "Medusa heads";
}

std::string HeadsLearner::file() const {
  return options_.grounded ? "hydra_lm_head.safetensors" : "medusa_lm_head.safetensors";
}

std::string HeadsLearner::output_name(std::size_t depth) const {
  return options_.grounded ? fmt::format("hydra_lm_head.{}", depth)
                           : fmt::format("{}.{}", depth, heads_[depth].blocks.size());
}

bool HeadsLearner::is_table(std::string_view name) const {
  for (std::size_t d = 0; d < heads_.size(); ++d) {
    if (name == output_name(d) + ".weight") return true;
  }
  return false;
}

NamedTensors HeadsLearner::parameters() {
  NamedTensors all;
  const auto add = [&](const std::string& name, const Block& block) {
    all.emplace_back(name + ".weight", block.weight);
    if (block.bias.defined()) all.emplace_back(name + ".bias", block.bias);
  };
  for (std::size_t d = 0; d < heads_.size(); ++d) {
    const Head& head = heads_[d];
    if (options_.grounded) {
      add(fmt::format("hydra_mlp.{}.0.linear", d), head.entry);
      add(fmt::format("hydra_mlp.{}.0.res_connection", d), head.entry_residual);
      for (std::size_t i = 0; i < head.blocks.size(); ++i)
        add(fmt::format("hydra_mlp.{}.{}.linear", d, i + 1), head.blocks[i]);
    } else {
      for (std::size_t i = 0; i < head.blocks.size(); ++i)
        add(fmt::format("{}.{}.linear", d, i), head.blocks[i]);
    }
    if (!options_.shares_head) add(output_name(d), head.output);
  }
  if (options_.prefix) {
    for (const auto& tensor : prefix_.named(std::string(kPrefix) + "layers.0.")) all.push_back(tensor);
    all.emplace_back(std::string(kPrefix) + "norm.weight", prefix_norm_);
  }
  return all;
}

torch::Tensor HeadsLearner::states(const Lesson& lesson) const {
  const torch::Tensor states = target_.final_norm(lesson.target.last);
  if (!options_.prefix) return states;
  const auto layout = c10::make_intrusive<PackLayout>(lesson.lengths(), target_.device());
  const torch::Tensor out = run_layer(prefix_, shape_, states, make_rotation(rope_, layout->positions()),
                                      layout, gradient_checkpointing());
  return rms_norm(out, prefix_norm_, target_.config().norm_eps);
}

torch::Tensor HeadsLearner::apply(int depth, const torch::Tensor& states, const Lesson& lesson,
                                  const torch::Tensor& rows) const {
  const Head& head = heads_[static_cast<std::size_t>(depth)];
  const auto run = [=, this, &head, embedded = lesson.embedded](const torch::Tensor& given) {
    const auto product = [](const Block& block, const torch::Tensor& x) {
      return linear_rows(x, block.weight) + block.bias;  // float32, as biases are
    };
    torch::Tensor x = given.index_select(0, rows);
    if (options_.grounded) {
      std::vector<torch::Tensor> input = {x};
      for (int i = 0; i <= depth; ++i) input.push_back(embedded.index_select(0, rows + (1 + i)));
      const torch::Tensor u = torch::cat(input, 1).to(product_type());
      x = product(head.entry_residual, u) + torch::silu(product(head.entry, u));
    }
    for (const Block& block : head.blocks) x = x + torch::silu(product(block, x));
    return x;
  };
  std::vector<torch::Tensor> used;
  const auto add = [&](const Block& block) { used.insert(used.end(), {block.weight, block.bias}); };
  if (options_.grounded) {
    add(head.entry);
    add(head.entry_residual);
  }
  for (const Block& block : head.blocks) add(block);
  return checkpointed(gradient_checkpointing(), run, states, used);
}

TorchHead HeadsLearner::over_vocabulary(int depth, const torch::Tensor& hidden) const {
  const Block& output = heads_[static_cast<std::size_t>(depth)].output;
  return {.hidden = hidden,
          .weight = output.weight,
          .bias = output.bias,
          .form = options_.shares_head ? target_.logit_form() : LogitForm{}};
}

Grade HeadsLearner::run(std::span<const Example> examples, bool learn) {
  Grade grade(options_.heads);
  const Lesson lesson = prepare_lesson(target_, examples, {}, &vocabulary_);
  if (lesson.empty()) return grade;
  const torch::AutoGradMode mode(learn);
  const torch::Tensor given = states(lesson);
  torch::Tensor total;
  struct Depth {
    int depth;
    std::int64_t tries;
  };
  std::vector<Depth> depths;
  std::vector<torch::Tensor> agreed;
  double weight = 1;
  for (int d = 0; d < options_.heads; ++d, weight *= options_.decay) {
    const Lesson::Pairs pairs = lesson.pairs(1 + d);
    if (pairs.rows.empty()) continue;
    const torch::Tensor rows = index_tensor(pairs.rows, target_.device());
    const VocabularyLoss loss = vocabulary_loss(
        over_vocabulary(d, apply(d, given, lesson, rows)),
        {.targets = lesson.distributions, .wanted = index_tensor(pairs.wanted, target_.device())});
    const auto tries = static_cast<std::int64_t>(pairs.rows.size());
    agreed.emplace_back(loss.agreed.sum());
    depths.push_back({d, tries});
    grade.rows = std::max(grade.rows, tries);
    total = total.defined() ? total + loss.sum * weight : loss.sum;  // the first is depth 0, which weighs 1
  }
  if (depths.empty()) return grade;
  if (learn) total.backward();
  const torch::Tensor hits = torch::stack(agreed).cpu();
  for (std::size_t i = 0; i < depths.size(); ++i)
    grade.count(depths[i].depth, hits.data_ptr<std::int64_t>()[i], depths[i].tries);
  grade.loss = total.item<double>();
  return grade;
}

torch::Tensor HeadsLearner::draft_logits(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const Lesson lesson = prepare_lesson(target_, {&example, 1}, {}, nullptr);
  const torch::Tensor given = states(lesson);
  std::vector<torch::Tensor> logits;
  for (int d = 0; d < options_.heads && root + d < lesson.length(); ++d) {
    const torch::Tensor rows = index_tensor({root - 1}, target_.device());
    logits.push_back(over_vocabulary(d, apply(d, given, lesson, rows)).logits());
  }
  return torch::cat(logits);
}

nlohmann::json HeadsLearner::config() const {
  const char* kind = options_.grounded ? "hydra" : "medusa";
  nlohmann::json config = {{fmt::format("{}_num_heads", kind), options_.heads},
                           {fmt::format("{}_num_layers", kind), options_.layers},
                           {"torch_dtype", "bfloat16"}};
  if (options_.shares_head) config["shares_target_head"] = true;
  if (options_.grounded) {
    config["hydra_head_arch"] = options_.prefix ? "prefix-mlp" : "mlp";
    config["grounded_heads"] = true;
  }
  return config;
}

}  // namespace augur
