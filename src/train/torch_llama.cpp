#include "train/torch_llama.h"

#include <cmath>

#include "base/error.h"
#include "train/torch_tensors.h"

namespace augur {

namespace {

/// Reads tensors by name, checked against the shape that the configuration implies.
class Reader {
 public:
  explicit Reader(const WeightStore& store) : store_(store) {}
  torch::Tensor matrix(const std::string& name, std::int64_t out, std::int64_t in) const {
    return to_torch(store_.require(name, {out, in})).to(torch::kBFloat16);
  }
  torch::Tensor vector(const std::string& name, std::int64_t n) const {
    return to_torch(store_.require(name, {n}));
  }
  torch::Tensor optional_vector(bool wanted, const std::string& name, std::int64_t n) const {
    return wanted ? vector(name, n) : torch::Tensor();
  }

 private:
  const WeightStore& store_;
};

}  // namespace

TorchLlama::TorchLlama(const Checkpoint& checkpoint)
    : config_(ModelConfig::from_json(checkpoint.config(), checkpoint.path().string())),
      rope_(make_rope_table(config_.rope, config_.head_dim, config_.max_context)) {
  const ModelConfig& c = config_;
  const Reader read(checkpoint.weights());
  const std::int64_t q_width = std::int64_t{c.heads} * c.head_dim;
  const std::int64_t kv_width = std::int64_t{c.kv_heads} * c.head_dim;
  embedding_ = read.matrix("model.embed_tokens.weight", c.vocab, c.hidden);
  head_ = c.tied_embeddings ? embedding_ : read.matrix("lm_head.weight", c.vocab, c.hidden);
  norm_ = read.vector("model.norm.weight", c.hidden);
  for (int i = 0; i < c.layers; ++i) {
    const std::string at = fmt::format("model.layers.{}.", i);
    const std::string attn = at + "self_attn.";
    const std::string mlp = at + "mlp.";
    layers_.push_back({
        .input_norm = read.vector(at + "input_layernorm.weight", c.hidden),
        .post_norm = read.vector(at + "post_attention_layernorm.weight", c.hidden),
        .q = read.matrix(attn + "q_proj.weight", q_width, c.hidden),
        .k = read.matrix(attn + "k_proj.weight", kv_width, c.hidden),
        .v = read.matrix(attn + "v_proj.weight", kv_width, c.hidden),
        .o = read.matrix(attn + "o_proj.weight", c.hidden, q_width),
        .gate = read.matrix(mlp + "gate_proj.weight", c.intermediate, c.hidden),
        .up = read.matrix(mlp + "up_proj.weight", c.intermediate, c.hidden),
        .down = read.matrix(mlp + "down_proj.weight", c.hidden, c.intermediate),
        .q_bias = read.optional_vector(c.qkv_bias, attn + "q_proj.bias", q_width),
        .k_bias = read.optional_vector(c.qkv_bias, attn + "k_proj.bias", kv_width),
        .v_bias = read.optional_vector(c.qkv_bias, attn + "v_proj.bias", kv_width),
        .o_bias = read.optional_vector(c.o_bias, attn + "o_proj.bias", c.hidden),
        .gate_bias = read.optional_vector(c.mlp_bias, mlp + "gate_proj.bias", c.intermediate),
        .up_bias = read.optional_vector(c.mlp_bias, mlp + "up_proj.bias", c.intermediate),
        .down_bias = read.optional_vector(c.mlp_bias, mlp + "down_proj.bias", c.hidden),
        .q_norm = read.optional_vector(c.qk_norm, attn + "q_norm.weight", c.head_dim),
        .k_norm = read.optional_vector(c.qk_norm, attn + "k_norm.weight", c.head_dim),
    });
  }
}

torch::Tensor TorchLlama::attention(const TorchLayer& layer, const torch::Tensor& x, const Rotation& rotation,
                                    const torch::Tensor& mask) const {
  const std::int64_t length = x.size(0);
  torch::Tensor q = linear_bf16(x, layer.q, layer.q_bias).view({length, config_.heads, config_.head_dim});
  torch::Tensor k = linear_bf16(x, layer.k, layer.k_bias).view({length, config_.kv_heads, config_.head_dim});
  const torch::Tensor v =
      linear_bf16(x, layer.v, layer.v_bias).view({length, config_.kv_heads, config_.head_dim});
  if (layer.q_norm.defined()) {
    q = rms_norm(q, layer.q_norm, config_.norm_eps);
    k = rms_norm(k, layer.k_norm, config_.norm_eps);
  }
  q = rotate(q, rotation).transpose(0, 1).to(torch::kBFloat16);
  k = spread_heads(rotate(k, rotation), config_.heads).to(torch::kBFloat16);
  torch::Tensor scores = torch::bmm(q, k.transpose(1, 2)).to(torch::kFloat32);
  scores = scores / std::sqrt(static_cast<double>(config_.head_dim)) + mask;
  const torch::Tensor p = scores.softmax(-1).to(torch::kBFloat16);
  const torch::Tensor mixed = torch::bmm(p, spread_heads(v, config_.heads));
  return linear_bf16(mixed.transpose(0, 1).reshape({length, -1}), layer.o, layer.o_bias);
}

TorchLlama::Output TorchLlama::forward(std::span<const TokenId> tokens, std::span<const int> taps) const {
  const torch::NoGradGuard no_grad;
  const auto length = static_cast<std::int64_t>(tokens.size());
  const torch::Tensor ids =
      torch::tensor(std::vector<std::int64_t>(tokens.begin(), tokens.end()), torch::kInt64);
  const Rotation rotation = make_rotation(rope_, 0, length);
  const torch::Tensor mask = causal_mask(length);
  Output out;
  out.taps.resize(taps.size());
  torch::Tensor x = embedding_.index_select(0, ids).to(torch::kFloat32);
  const auto tap = [&](int layer) {
    for (std::size_t i = 0; i < taps.size(); ++i) {
      if (taps[i] == layer) out.taps[i] = x.clone();
    }
  };
  for (int i = 0; i < config_.layers; ++i) {
    tap(i);
    const TorchLayer& layer = layers_[static_cast<std::size_t>(i)];
    x = x + attention(layer, rms_norm(x, layer.input_norm, config_.norm_eps), rotation, mask);
    const torch::Tensor h = rms_norm(x, layer.post_norm, config_.norm_eps);
    const torch::Tensor gate = linear_bf16(h, layer.gate, layer.gate_bias);
    const torch::Tensor up = linear_bf16(h, layer.up, layer.up_bias);
    x = x + linear_bf16(torch::silu(gate) * up, layer.down, layer.down_bias);
  }
  tap(config_.layers);
  out.last = x;
  return out;
}

torch::Tensor TorchLlama::logits(const torch::Tensor& hidden) const {
  const torch::NoGradGuard no_grad;
  return torch::linear(final_norm(hidden).to(torch::kBFloat16), head_).to(torch::kFloat32);
}

}  // namespace augur
