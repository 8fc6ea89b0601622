#pragma once
#include <torch/torch.h>

#include <string>

#include "lab/train/packed_attention.h"
#include "lab/train/torch_ops.h"
#include "lab/train/torch_tensors.h"
#include "model/config.h"

namespace augur {

/// One decoder layer's weights under Hugging Face's names, and its forward pass in pieces: the target,
/// language models and every head with attention are made of it. Biases and q/k norms only where a family has
/// them; a tensor that is not there is undefined. Matrices are bfloat16 when frozen, float32 when trained.
struct TorchLayer {
  LayerSpec spec;
  torch::Tensor input_norm, post_norm;                 ///< of what attention and the feed-forward read
  torch::Tensor attention_after_norm, mlp_after_norm;  ///< of what they add
  torch::Tensor q, k, v, o, gate, up, down;
  torch::Tensor q_bias, k_bias, v_bias, o_bias;
  torch::Tensor gate_bias, up_bias, down_bias;
  torch::Tensor q_norm, k_norm;

  /// Random and trainable, of `config`'s shape. `input`: width of what attention takes (0: hidden);
  /// `input_norm` false: none.
  static TorchLayer random(const ModelConfig& config, torch::Generator& generator, torch::Device device,
                           std::int64_t input = 0, bool with_input_norm = true);
  /// All tensors that are there, by name behind `prefix`; of a layer without after-norms.
  NamedTensors named(const std::string& prefix) const;
};

/// q [R, heads, head_dim], k and v [R, kv heads, head_dim] in product_type(), q and k rotated.
struct Attended {
  torch::Tensor q, k, v;
};
/// Of rows x[R, input] at the rotation's positions.
Attended project(const TorchLayer& layer, const ModelConfig& config, const torch::Tensor& x,
                 const Rotation& rotation);
/// The same without queries: rows that are only looked at.
Attended project_context(const TorchLayer& layer, const ModelConfig& config, const torch::Tensor& x,
                         const Rotation& rotation);

/// What the layer makes of products of queries and keys.
AttentionRule attention_rule(const TorchLayer& layer, const ModelConfig& config);
/// What attention adds to the residual stream, of mixed values [R, heads, head_dim].
torch::Tensor attention_output(const TorchLayer& layer, const ModelConfig& config,
                               const torch::Tensor& mixed);
/// x plus what the feed-forward adds.
torch::Tensor feed_forward(const TorchLayer& layer, const ModelConfig& config, const torch::Tensor& x);

/// The whole layer over a pack's rows. x [T, hidden] float32. With `checkpoint` its activations are computed
/// again in the backward pass; layer and config must live until then.
torch::Tensor run_layer(const TorchLayer& layer, const ModelConfig& config, const torch::Tensor& x,
                        const Rotation& rotation, const PackLayoutPtr& layout, bool checkpoint = false);

}  // namespace augur
