#include "lab/train/torch_layer.h"

#include <cmath>

#include "lab/train/gradient_checkpoint.h"

namespace augur {

namespace {

/// Queries or keys, of a projection's rows, as far as they come before the rotation.
torch::Tensor normed_heads(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& rows,
                           int heads, const torch::Tensor& norm) {
  const std::int64_t count = rows.size(0);
  switch (layer.spec.qk_norm) {
    case QkNorm::None:
      break;
    case QkNorm::PerHead:
      if (layer.spec.norms_rotated) break;
      return rms_norm(rows.view({count, heads, c.head_dim}), norm, c.norm_eps);
    case QkNorm::Whole:
      return rms_norm(rows, norm, c.norm_eps).view({count, heads, c.head_dim});
  }
  return rows.view({count, heads, c.head_dim});
}

torch::Tensor rotated_heads(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& heads,
                            const Rotation& rotation, const torch::Tensor& norm) {
  const torch::Tensor rotated = rotate(heads, rotation);
  const bool norms = layer.spec.qk_norm == QkNorm::PerHead && layer.spec.norms_rotated;
  return norms ? rms_norm(rotated, norm, c.norm_eps) : rotated;
}

torch::Tensor keys(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                   const Rotation& rotation) {
  const torch::Tensor k =
      normed_heads(layer, c, linear_rows(x, layer.k, layer.k_bias), c.kv_heads, layer.k_norm);
  return rotated_heads(layer, c, k, rotation, layer.k_norm).to(product_type());
}

/// The stream plus a block's result, on its way normed and scaled.
torch::Tensor added(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                    torch::Tensor result, const torch::Tensor& norm) {
  if (norm.defined()) result = rms_norm(result, norm, c.norm_eps);
  return layer.spec.residual_scale == 1.0f ? x + result
                                           : x + result.to(torch::kFloat32) * layer.spec.residual_scale;
}

torch::Tensor normed(const torch::Tensor& x, const torch::Tensor& norm, double eps) {
  return norm.defined() ? rms_norm(x, norm, eps) : x;
}

torch::Tensor values(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x) {
  return linear_rows(x, layer.v, layer.v_bias).view({x.size(0), c.kv_heads, c.head_dim});
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
  layer.spec = c.layer(0);
  layer.q = matrix(q_width, width);
  layer.k = matrix(kv_width, width);
  layer.v = matrix(kv_width, width);
  layer.o = matrix(h, q_width);
  layer.gate = matrix(c.intermediate, h);
  layer.up = matrix(c.intermediate, h);
  layer.down = matrix(h, c.intermediate);
  if (with_input_norm) layer.input_norm = ones(width);
  layer.post_norm = ones(h);
  if (layer.spec.qk_norm == QkNorm::PerHead) {
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
  const torch::Tensor rows = x.to(product_type());
  const torch::Tensor q =
      normed_heads(layer, c, linear_rows(rows, layer.q, layer.q_bias), c.heads, layer.q_norm);
  torch::Tensor rotated = rotated_heads(layer, c, q, rotation, layer.q_norm);
  if (rotation.growth.defined()) rotated = rotated * rotation.growth;
  return {rotated.to(product_type()), keys(layer, c, rows, rotation), values(layer, c, rows)};
}

Attended project_context(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                         const Rotation& rotation) {
  const torch::Tensor rows = x.to(product_type());
  return {{}, keys(layer, c, rows, rotation), values(layer, c, rows)};
}

AttentionRule attention_rule(const TorchLayer& layer, const ModelConfig& c) {
  const double given = layer.spec.score_scale;
  return {.scale = given > 0 ? given : 1 / std::sqrt(static_cast<double>(c.head_dim)),
          .cap = layer.spec.score_cap,
          .window = layer.spec.window};
}

torch::Tensor attention_output(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& mixed) {
  const torch::Tensor out = linear_rows(mixed.flatten(1), layer.o, layer.o_bias);
  return normed(out, layer.attention_after_norm, c.norm_eps);
}

torch::Tensor feed_forward(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x) {
  const torch::Tensor m = normed(x, layer.post_norm, c.norm_eps).to(product_type());
  const torch::Tensor gate = linear_rows(m, layer.gate, layer.gate_bias);
  const torch::Tensor up = linear_rows(m, layer.up, layer.up_bias);
  const torch::Tensor opened =
      layer.spec.activation == Activation::Silu ? silu_gated(gate, up) : torch::gelu(gate, "tanh") * up;
  return added(layer, c, x, linear_rows(opened, layer.down, layer.down_bias), layer.mlp_after_norm);
}

torch::Tensor run_layer(const TorchLayer& layer, const ModelConfig& c, const torch::Tensor& x,
                        const Rotation& rotation, const PackLayoutPtr& layout, bool checkpoint) {
  const auto run = [&layer, &c, rotation, layout](const torch::Tensor& in) {
    const Attended rows = project(layer, c, normed(in, layer.input_norm, c.norm_eps), rotation);
    const torch::Tensor mixed =
        packed_attention(rows.q, rows.k, rows.v, {}, {}, layout, attention_rule(layer, c));
    return feed_forward(layer, c, added(layer, c, in, attention_output(layer, c, mixed), {}));
  };
  if (!checkpoint) return run(x);
  return checkpointed(true, run, x, values_of(layer.named("")));
}

}  // namespace augur
