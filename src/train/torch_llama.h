#pragma once
#include <torch/torch.h>

#include <span>
#include <vector>

#include "base/types.h"
#include "io/checkpoint.h"
#include "model/config.h"
#include "train/torch_ops.h"

namespace augur {

/// One decoder layer's weights, bfloat16 matrices and float32 norms; biases and q/k norms only where the
/// family has them.
struct TorchLayer {
  torch::Tensor input_norm, post_norm;
  torch::Tensor q, k, v, o, gate, up, down;
  torch::Tensor q_bias, k_bias, v_bias, o_bias;
  torch::Tensor gate_bias, up_bias, down_bias;
  torch::Tensor q_norm, k_norm;
};

/// The target model in libtorch, frozen: what every trainer asks for hidden states and distributions. The
/// same families and the same arithmetic as the engine's Model (products in bfloat16, the rest in float32).
class TorchLlama {
 public:
  explicit TorchLlama(const Checkpoint& checkpoint);

  const ModelConfig& config() const { return config_; }

  struct Output {
    std::vector<torch::Tensor> taps;  ///< [T, hidden] each: the residual stream entering the asked layers
    torch::Tensor last;               ///< [T, hidden] after the last layer, before the final norm
  };
  /// Runs one sequence from position 0. Tap id = layers means after the last layer.
  Output forward(std::span<const TokenId> tokens, std::span<const int> taps) const;

  /// [R, vocab] float32 logits of rows before the final norm.
  torch::Tensor logits(const torch::Tensor& hidden) const;
  torch::Tensor final_norm(const torch::Tensor& hidden) const {
    return rms_norm(hidden, norm_, config_.norm_eps);
  }

  const torch::Tensor& embedding() const { return embedding_; }  ///< [vocab, hidden] bfloat16
  const torch::Tensor& head() const { return head_; }            ///< [vocab, hidden] bfloat16
  const torch::Tensor& norm_weight() const { return norm_; }

 private:
  torch::Tensor attention(const TorchLayer& layer, const torch::Tensor& x, const Rotation& rotation,
                          const torch::Tensor& mask) const;

  ModelConfig config_;
  RopeTable rope_;
  torch::Tensor embedding_, head_, norm_;
  std::vector<TorchLayer> layers_;
};

}  // namespace augur
