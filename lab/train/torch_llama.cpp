#include "lab/train/torch_llama.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/train/engine_target.h"
#include "lab/train/row_grade.h"
#include "lab/train/target_memory.h"
#include "lab/train/torch_tensors.h"
#include "model/families.h"

namespace augur {

namespace {

/// Reads tensors by name, checked against the shape that the configuration implies.
class Reader {
 public:
  Reader(const WeightStore& store, torch::Device device) : store_(store), device_(device) {}
  torch::Tensor matrix(const std::string& name, std::int64_t out, std::int64_t in) const {
    return to_torch(store_.require(name, {out, in})).to(torch::kBFloat16).to(device_);
  }
  torch::Tensor vector(const std::string& name, std::int64_t n) const {
    return to_torch(store_.require(name, {n})).to(device_);
  }
  torch::Tensor optional_vector(bool wanted, const std::string& name, std::int64_t n) const {
    return wanted ? vector(name, n) : torch::Tensor();
  }

 private:
  const WeightStore& store_;
  torch::Device device_;
};

std::vector<RopeTable> rope_tables(const ModelConfig& c) {
  std::vector<RopeTable> tables;
  for (const LayerSpec& kind : c.kinds) {
    tables.push_back(make_rope_table(kind.rope, c.head_dim, c.max_context));
  }
  return tables;
}

TorchLayer read_layer(const Reader& read, const ModelConfig& c, int index) {
  const LayerSpec& spec = c.layer(index);
  if (spec.experts.count > 0 || spec.sinks) {
    throw Error("layer {}: layers with experts or attention sinks run in the engine only", index);
  }
  const TensorNames& names = find_family(c.family)->names;
  const std::string at = fmt::format(fmt::runtime(names.layer), index);
  const auto norm = [&](bool wanted, std::string_view name, std::int64_t n) {
    return wanted ? read.vector(at + std::string(name), n) + static_cast<double>(c.norm_offset)
                  : torch::Tensor();
  };
  const bool before = spec.norms != NormPlace::After;
  const bool after = spec.norms != NormPlace::Before;
  const bool qk = spec.qk_norm != QkNorm::None;
  const bool whole = spec.qk_norm == QkNorm::Whole;
  const std::int64_t q_width = std::int64_t{c.heads} * c.head_dim;
  const std::int64_t kv_width = std::int64_t{c.kv_heads} * c.head_dim;
  const std::string attn = at + "self_attn.";
  const std::string mlp = at + "mlp.";
  return {
      .spec = spec,
      .input_norm = norm(before, names.attention_norm, c.hidden),
      .post_norm = norm(before, names.mlp_norm, c.hidden),
      .attention_after_norm = norm(after, names.attention_after_norm, c.hidden),
      .mlp_after_norm = norm(after, names.mlp_after_norm, c.hidden),
      .q = read.matrix(attn + "q_proj.weight", q_width, c.hidden),
      .k = read.matrix(attn + "k_proj.weight", kv_width, c.hidden),
      .v = read.matrix(attn + "v_proj.weight", kv_width, c.hidden),
      .o = read.matrix(attn + "o_proj.weight", c.hidden, q_width),
      .gate = read.matrix(mlp + "gate_proj.weight", c.intermediate, c.hidden),
      .up = read.matrix(mlp + "up_proj.weight", c.intermediate, c.hidden),
      .down = read.matrix(mlp + "down_proj.weight", c.hidden, c.intermediate),
      .q_bias = read.optional_vector(spec.qkv_bias, attn + "q_proj.bias", q_width),
      .k_bias = read.optional_vector(spec.qkv_bias, attn + "k_proj.bias", kv_width),
      .v_bias = read.optional_vector(spec.qkv_bias, attn + "v_proj.bias", kv_width),
      .o_bias = read.optional_vector(spec.o_bias, attn + "o_proj.bias", c.hidden),
      .gate_bias = read.optional_vector(spec.mlp_bias, mlp + "gate_proj.bias", c.intermediate),
      .up_bias = read.optional_vector(spec.mlp_bias, mlp + "up_proj.bias", c.intermediate),
      .down_bias = read.optional_vector(spec.mlp_bias, mlp + "down_proj.bias", c.hidden),
      .q_norm = norm(qk, names.q_norm, whole ? q_width : c.head_dim),
      .k_norm = norm(qk, names.k_norm, whole ? kv_width : c.head_dim),
  };
}

std::string layer_prefix(int layer) {
  return fmt::format("model.layers.{}.", layer);
}

}  // namespace

TorchLlama::TorchLlama(const Checkpoint& checkpoint, torch::Device device, TargetForward forward)
    : config_(ModelConfig::from_json(checkpoint.config(), checkpoint.path().string())),
      ropes_(rope_tables(config_)) {
  const Reader read(checkpoint.weights(), device);
  embedding_ = read.matrix("model.embed_tokens.weight", config_.vocab, config_.hidden);
  if (!config_.tied_embeddings) head_ = read.matrix("lm_head.weight", config_.vocab, config_.hidden);
  norm_ = read.vector("model.norm.weight", config_.hidden) + static_cast<double>(config_.norm_offset);
  if (forward == TargetForward::Engine) {
    assert(device.is_cpu());
    engine_ = std::make_shared<EngineTarget>(checkpoint);
    return;
  }
  for (int i = 0; i < config_.layers; ++i) layers_.push_back(read_layer(read, config_, i));
}

TorchLlama::TorchLlama(const ModelConfig& config, torch::Generator& generator, torch::Device device)
    : config_(config), ropes_(rope_tables(config)) {
  // As is usual for language models: embeddings small, so that tied logits start near zero.
  constexpr double kEmbeddingDeviation = 0.02;
  const auto table = [&] {
    return trainable(torch::randn({config.vocab, config.hidden}, generator) * kEmbeddingDeviation, device);
  };
  embedding_ = table();
  if (!config.tied_embeddings) head_ = table();
  norm_ = trainable(torch::ones({config.hidden}), device);
  for (int i = 0; i < config.layers; ++i) {
    TorchLayer layer = TorchLayer::random(config, generator, device);
    // What a layer adds to the stream starts small (GPT-2's rule), so that depth does not matter at first.
    const torch::NoGradGuard no_grad;
    const double shrink = 1 / std::sqrt(2.0 * config.layers);
    layer.o.mul_(shrink);
    layer.down.mul_(shrink);
    layers_.push_back(std::move(layer));
  }
}

NamedTensors TorchLlama::named() const {
  NamedTensors all = {{"model.embed_tokens.weight", embedding_}};
  for (int i = 0; i < config_.layers; ++i) {
    const NamedTensors tensors = layer(i).named(layer_prefix(i));
    all.insert(all.end(), tensors.begin(), tensors.end());
  }
  all.emplace_back("model.norm.weight", norm_);
  if (head_.defined()) all.emplace_back("lm_head.weight", head_);
  return all;
}

TorchLayer TorchLlama::layer(int index) const {
  if (engine_ == nullptr) return layers_[static_cast<std::size_t>(index)];
  return read_layer(Reader(engine_->checkpoint().weights(), device()), config_, index);
}

torch::Tensor TorchLlama::embed(const torch::Tensor& ids) const {
  return embedding_.index_select(0, ids).to(torch::kFloat32);
}

void TorchLlama::remember(std::int64_t bytes) {
  memory_ = std::make_shared<TargetMemory>(bytes);
}

TorchLlama::Output TorchLlama::forward(std::span<const TokenId> tokens, std::span<const int> taps) const {
  if (memory_ == nullptr) return compute(tokens, taps);
  if (std::optional<Output> known = memory_->find(tokens, taps)) return *std::move(known);
  Output out = TargetMemory::rounded(compute(tokens, taps));
  std::vector<torch::Tensor> favourites;
  constexpr std::int64_t kRows = 128;  // whose logits stay in a cache
  for (std::int64_t begin = 0; begin < out.last.size(0); begin += kRows) {
    const torch::Tensor rows = out.last.slice(0, begin, std::min(begin + kRows, out.last.size(0)));
    const torch::Tensor logits = linear_bf16(final_norm(rows), head());
    favourites.push_back(row_favourites(logits));
  }
  out.favourites = torch::cat(favourites);
  memory_->keep(tokens, taps, out);
  return out;
}

TorchLlama::Output TorchLlama::compute(std::span<const TokenId> tokens, std::span<const int> taps) const {
  if (engine_ != nullptr) return engine_->forward(tokens, taps);
  const auto length = static_cast<std::int64_t>(tokens.size());
  std::vector<Rotation> rotations;
  std::vector<torch::Tensor> masks;
  for (std::size_t kind = 0; kind < ropes_.size(); ++kind) {
    rotations.push_back(make_rotation(ropes_[kind], 0, length, device()));
    masks.push_back(causal_mask(length, device(), config_.kinds[kind].window));
  }
  Output out;
  out.taps.resize(taps.size());
  torch::Tensor x = embed(index_tensor({tokens.begin(), tokens.end()}, device()));
  if (config_.embedding_scale != 1.0f) x = x * config_.embedding_scale;
  const auto tap = [&](int layer) {
    for (std::size_t i = 0; i < taps.size(); ++i) {
      if (taps[i] == layer) out.taps[i] = x;
    }
  };
  for (int i = 0; i < config_.layers; ++i) {
    tap(i);
    const std::size_t kind = config_.kind(i);
    x = run_layer(layers_[static_cast<std::size_t>(i)], config_, x, rotations[kind], masks[kind]);
  }
  tap(config_.layers);
  out.last = x;
  return out;
}

torch::Tensor TorchLlama::logits(const torch::Tensor& hidden) const {
  return shaped(linear_bf16(final_norm(hidden), head()).to(torch::kFloat32), logit_form());
}

std::vector<int> default_taps(const ModelConfig& target) {
  const int n = target.layers;
  std::vector<int> taps = {2, n / 2, n - 3};
  if (taps[0] < taps[1] && taps[1] < taps[2]) return taps;
  if (n < 3) throw Error("the target has {} layers: draft heads are fed from three", n);
  return {n - 2, n - 1, n};
}

}  // namespace augur
