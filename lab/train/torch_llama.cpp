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
#include "model/rotary_order.h"

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
  /// Rows in the engine's order.
  static torch::Tensor ordered(const torch::Tensor& stored, const RotaryOrder& order) {
    if (order.dims == 0 || !stored.defined()) return stored;
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < stored.size(0); ++row) rows.push_back(order.stored(row));
    return stored.index_select(0, index_tensor(rows, stored.device()));
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
  if (spec.experts.count > 0 || spec.sinks || spec.gated || !spec.attends() || !spec.feeds_forward()) {
    throw Error(
        "layer {}: layers with experts, attention sinks, gated attention, short convolutions or states, and "
        "those of one block, run in the engine only",
        index);
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
  const RotaryOrder order = rotary_order(c);
  const std::string attn = at + "self_attn.";
  const std::string mlp = at + "mlp.";
  return {
      .spec = spec,
      .input_norm = norm(before, names.attention_norm, c.hidden),
      .post_norm = norm(before, names.mlp_norm, c.hidden),
      .attention_after_norm = norm(after, names.attention_after_norm, c.hidden),
      .mlp_after_norm = norm(after, names.mlp_after_norm, c.hidden),
      .q = Reader::ordered(read.matrix(attn + "q_proj.weight", q_width, c.hidden), order),
      .k = Reader::ordered(read.matrix(attn + "k_proj.weight", kv_width, c.hidden), order),
      .v = read.matrix(attn + "v_proj.weight", kv_width, c.hidden),
      .o = read.matrix(attn + "o_proj.weight", c.hidden, q_width),
      .gate = read.matrix(mlp + "gate_proj.weight", c.intermediate, c.hidden),
      .up = read.matrix(mlp + "up_proj.weight", c.intermediate, c.hidden),
      .down = read.matrix(mlp + "down_proj.weight", c.hidden, c.intermediate),
      .q_bias = Reader::ordered(read.optional_vector(spec.qkv_bias, attn + "q_proj.bias", q_width), order),
      .k_bias = Reader::ordered(read.optional_vector(spec.qkv_bias, attn + "k_proj.bias", kv_width), order),
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
  norm_ = read.vector(std::string(find_family(config_.family)->names.final_norm), config_.hidden) +
          static_cast<double>(config_.norm_offset);
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

TorchLlama::Output TorchLlama::forward(Sequences sequences, std::span<const int> taps) const {
  if (memory_ == nullptr) return compute(sequences, taps);
  std::vector<Output> each(sequences.size());
  std::vector<std::span<const TokenId>> fresh;
  std::vector<std::size_t> places;  // of the fresh ones
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (std::optional<Output> known = memory_->find(sequences[i], taps)) {
      each[i] = *std::move(known);
    } else {
      fresh.push_back(sequences[i]);
      places.push_back(i);
    }
  }
  if (!fresh.empty()) {
    Output out = TargetMemory::rounded(compute(fresh, taps));
    out.favourites = favourites(out.last);
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      const std::int64_t end = begin + std::ssize(fresh[i]);
      each[places[i]] = out.rows(begin, end);
      memory_->keep(fresh[i], taps, each[places[i]]);
      begin = end;
    }
  }
  return Output::joined(each);
}

TorchLlama::Output TorchLlama::Output::rows(std::int64_t begin, std::int64_t end) const {
  Output out{.taps = {}, .last = last.slice(0, begin, end), .favourites = {}};
  for (const torch::Tensor& tap : taps) out.taps.push_back(tap.slice(0, begin, end));
  if (favourites.defined()) out.favourites = favourites.slice(0, begin, end).clone();
  return out;
}

TorchLlama::Output TorchLlama::Output::joined(const std::vector<Output>& parts) {
  if (parts.size() == 1) return parts[0];
  const auto together = [&](const auto& member) {
    std::vector<torch::Tensor> all;
    for (const Output& part : parts) all.push_back(member(part));
    return torch::cat(all);
  };
  Output out;
  for (std::size_t tap = 0; tap < parts[0].taps.size(); ++tap)
    out.taps.push_back(together([&](const Output& part) { return part.taps[tap]; }));
  out.last = together([](const Output& part) { return part.last; });
  if (parts[0].favourites.defined())
    out.favourites = together([](const Output& part) { return part.favourites; });
  return out;
}

torch::Tensor TorchLlama::favourites(const torch::Tensor& last) const {
  const std::int64_t at_once = rows_at_once();
  std::vector<torch::Tensor> parts;
  for (std::int64_t begin = 0; begin < last.size(0); begin += at_once) {
    const torch::Tensor rows = last.slice(0, begin, std::min(begin + at_once, last.size(0)));
    parts.push_back(row_favourites(linear_rows(final_norm(rows), head())));
  }
  return torch::cat(parts);
}

TorchLlama::Output TorchLlama::compute(Sequences sequences, std::span<const int> taps) const {
  if (engine_ != nullptr) return engine_->forward(sequences, taps);
  std::vector<std::int64_t> lengths, ids;
  for (const std::span<const TokenId> tokens : sequences) {
    lengths.push_back(std::ssize(tokens));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }
  const auto layout = c10::make_intrusive<PackLayout>(std::move(lengths), device());
  std::vector<Rotation> rotations;
  for (std::size_t kind = 0; kind < ropes_.size(); ++kind) {
    rotations.push_back(make_rotation(ropes_[kind], layout->positions()));
    rotations.back().growth = query_growth(config_.kinds[kind].query_growth, layout->positions());
  }
  Output out;
  out.taps.resize(taps.size());
  torch::Tensor x = embed(index_tensor(ids, device()));
  if (config_.embedding_scale != 1.0f) x = x * config_.embedding_scale;
  const auto tap = [&](int layer) {
    for (std::size_t i = 0; i < taps.size(); ++i) {
      if (taps[i] == layer) out.taps[i] = x;
    }
  };
  for (int i = 0; i < config_.layers; ++i) {
    tap(i);
    x = run_layer(layers_[static_cast<std::size_t>(i)], config_, x, rotations[config_.kind(i)], layout,
                  gradient_checkpointing_);
  }
  tap(config_.layers);
  out.last = x;
  return out;
}

std::int64_t TorchLlama::rows_at_once() const {
  const std::int64_t logits = device().is_cpu() ? 6 << 20 : 384 << 20;
  return std::max<std::int64_t>(64, logits / config_.vocab);
}

torch::Tensor TorchLlama::logits(const torch::Tensor& hidden) const {
  return shaped(linear_rows(final_norm(hidden), head()).to(torch::kFloat32), logit_form());
}

std::vector<int> default_taps(const ModelConfig& target) {
  const int n = target.layers;
  std::vector<int> taps = {2, n / 2, n - 3};
  if (taps[0] < taps[1] && taps[1] < taps[2]) return taps;
  if (n < 3) throw Error("the target has {} layers: draft heads are fed from three", n);
  return {n - 2, n - 1, n};
}

}  // namespace augur
