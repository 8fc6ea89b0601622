#include "lab/train/torch_layer.h"

#include <cmath>

namespace augur {

namespace {

torch::Tensor keys(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                   const Rotation& rotation) {
  torch::Tensor k = linear_bf16(x, layer.k, layer.k_bias).view({x.size(0), c.kv_heads, c.head_dim});
  if (layer.k_norm.defined()) k = rms_norm(k, layer.k_norm, c.norm_eps);
  return spread_heads(rotate(k, rotation), c.heads).to(torch::kBFloat16);
}

torch::Tensor values(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x) {
  return spread_heads(linear_bf16(x, layer.v, layer.v_bias).view({x.size(0), c.kv_heads, c.head_dim}),
                      c.heads);
}

}  // namespace

TorchLayer TorchLayer::random(const ModelConfig& c, torch::Generator& generator, torch::Device device,
                              std::int64_t input, bool with_input_norm) {
  const std::int64_t h = c.hidden;
  const std::int64_t width = input > 0 ? input : h;
  const std::int64_t q_width = std::int64_t{c.heads} * c.head_dim;
  const std::int64_t kv_width = std::int64_t{c.kv_heads} * c.head_dim;
  const auto matrix = [&](std::int64_t out, std::int64_t in) {
    return trainable(random_matrix(out, in, generator), device);
  };
  const auto ones = [&](std::int64_t n) { return trainable(torch::ones({n}), device); };
  TorchLayer layer;
  layer.q = matrix(q_width, width);
  layer.k = matrix(kv_width, width);
  layer.v = matrix(kv_width, width);
  layer.o = matrix(h, q_width);
  layer.gate = matrix(c.intermediate, h);
  layer.up = matrix(c.intermediate, h);
  layer.down = matrix(h, c.intermediate);
  if (with_input_norm) layer.input_norm = ones(width);
  layer.post_norm = ones(h);
  if (c.qk_norm) {
    layer.q_norm = ones(c.head_dim);
    layer.k_norm = ones(c.head_dim);
  }
  return layer;
}

NamedTensors TorchLayer::named(const std::string& prefix) const {
  NamedTensors all = {{"self_attn.q_proj.weight", q},         {"self_attn.k_proj.weight", k},
                      {"self_attn.v_proj.weight", v},         {"self_attn.o_proj.weight", o},
                      {"self_attn.q_proj.bias", q_bias},      {"self_attn.k_proj.bias", k_bias},
                      {"self_attn.v_proj.bias", v_bias},      {"self_attn.o_proj.bias", o_bias},
                      {"self_attn.q_norm.weight", q_norm},    {"self_attn.k_norm.weight", k_norm},
                      {"mlp.gate_proj.weight", gate},         {"mlp.up_proj.weight", up},
                      {"mlp.down_proj.weight", down},         {"mlp.gate_proj.bias", gate_bias},
                      {"mlp.up_proj.bias", up_bias},          {"mlp.down_proj.bias", down_bias},
                      {"input_layernorm.weight", input_norm}, {"post_attention_layernorm.weight", post_norm}};
  NamedTensors present;
  for (const auto& [name, tensor] : all) {
    if (tensor.defined()) present.emplace_back(prefix + name, tensor);
  }
  return present;
}

Attended project(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                 const Rotation& rotation) {
  const torch::Tensor rows = x.to(torch::kBFloat16);
  torch::Tensor q = linear_bf16(rows, layer.q, layer.q_bias).view({x.size(0), c.heads, c.head_dim});
  if (layer.q_norm.defined()) q = rms_norm(q, layer.q_norm, c.norm_eps);
  return {rotate(q, rotation).transpose(0, 1).to(torch::kBFloat16), keys(layer, c, rows, rotation),
          values(layer, c, rows)};
}

Attended project_context(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                         const Rotation& rotation) {
  const torch::Tensor rows = x.to(torch::kBFloat16);
  return {{}, keys(layer, c, rows, rotation), values(layer, c, rows)};
}

torch::Tensor attention_scores(const torch::Tensor& q, const torch::Tensor& k) {
  return product(q, k.transpose(1, 2)).to(torch::kFloat32).div_(std::sqrt(static_cast<double>(q.size(-1))));
}

torch::Tensor attention_output(const TorchLayer& layer, const torch::Tensor& mixed) {
  return linear_bf16(mixed.transpose(0, 1).reshape({mixed.size(1), -1}), layer.o, layer.o_bias);
}

torch::Tensor feed_forward(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x) {
  const torch::Tensor m = rms_norm(x, layer.post_norm, c.norm_eps).to(torch::kBFloat16);
  const torch::Tensor gate = linear_bf16(m, layer.gate, layer.gate_bias);
  const torch::Tensor up = linear_bf16(m, layer.up, layer.up_bias);
  return x + linear_bf16(torch::silu(gate) * up, layer.down, layer.down_bias);
}

torch::Tensor run_layer(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                        const Rotation& rotation, const torch::Tensor& mask) {
  const Attended rows = project(layer, c, rms_norm(x, layer.input_norm, c.norm_eps), rotation);
  const torch::Tensor p = attention_scores(rows.q, rows.k).add_(mask).softmax(-1).to(torch::kBFloat16);
  return feed_forward(layer, c, x + attention_output(layer, product(p, rows.v)));
}

}  // namespace augur
