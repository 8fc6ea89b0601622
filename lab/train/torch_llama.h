#pragma once
#include <torch/torch.h>

#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "checkpoint/checkpoint.h"
#include "lab/train/torch_layer.h"
#include "model/config.h"

namespace augur {

class EngineTarget;
class TargetMemory;

/// Who computes a frozen target's hidden states.
enum class TargetForward { Libtorch, Engine };

/// A decoder-only transformer in libtorch: the frozen target that every trainer asks for hidden states and
/// distributions, or a language model in training. The same families and the same arithmetic as the engine's
/// Model (products in product_type(), the rest in float32). Sequences are run together, each from position 0.
class TorchLlama {
 public:
  /// Frozen: bfloat16 matrices, nothing collects gradients. With the engine's forward, which is for the CPU,
  /// layers are in its memory only. Error naming file and tensor.
  explicit TorchLlama(const Checkpoint& checkpoint, torch::Device device = torch::kCPU,
                      TargetForward forward = TargetForward::Libtorch);
  /// Trainable, with random weights.
  TorchLlama(const ModelConfig& config, torch::Generator& generator, torch::Device device);

  const ModelConfig& config() const { return config_; }
  torch::Device device() const { return embedding_.device(); }

  /// Of sequences one after another, T rows in all.
  struct Output {
    std::vector<torch::Tensor> taps;  ///< [T, hidden] each: the residual stream entering the asked layers
    torch::Tensor last;               ///< [T, hidden] after the last layer, before the final norm
    torch::Tensor favourites;         ///< [T] int64: the likeliest token after each; a remembering target's

    Output rows(std::int64_t begin, std::int64_t end) const;
    static Output joined(const std::vector<Output>& parts);  ///< one after another; one part at least
  };
  /// From now on outputs of sequences seen before come from memory, up to `bytes` of them. For targets that
  /// do not learn.
  void remember(std::int64_t bytes);

  /// Of a model that learns: whether its layers' activations are computed again in the backward pass.
  void set_gradient_checkpointing(bool on) { gradient_checkpointing_ = on; }

  using Sequences = std::span<const std::span<const TokenId>>;
  /// Tap id = layers means after the last layer.
  Output forward(Sequences sequences, std::span<const int> taps = {}) const;
  Output forward(std::span<const TokenId> tokens, std::span<const int> taps = {}) const {
    return forward(Sequences{&tokens, 1}, taps);
  }

  /// Embedding rows as they are stored, without the model's scale, float32. ids [n] int64
  torch::Tensor embed(const torch::Tensor& ids) const;
  torch::Tensor final_norm(const torch::Tensor& hidden) const {
    return rms_norm(hidden, norm_, config_.norm_eps);  // whose weights have the offset
  }
  /// Rows whose logits over the whole vocabulary are good to make at a time: on a CPU they shall stay in its
  /// cache, elsewhere memory is what limits them.
  std::int64_t rows_at_once() const;
  /// [R, vocab] float32 logits of rows before the final norm.
  torch::Tensor logits(const torch::Tensor& hidden) const;

  const torch::Tensor& embedding() const { return embedding_; }  ///< [vocab, hidden]
  const torch::Tensor& head() const { return config_.tied_embeddings ? embedding_ : head_; }  ///< the same
  LogitForm logit_form() const { return {.scale = config_.logit_scale, .cap = config_.logit_cap}; }
  const torch::Tensor& norm_weight() const { return norm_; }
  TorchLayer layer(int index) const;  ///< read anew where the engine has the layers
  /// All weights by Hugging Face's names, a tied head once.
  NamedTensors named() const;

 private:
  Output compute(Sequences sequences, std::span<const int> taps) const;
  torch::Tensor favourites(const torch::Tensor& last) const;

  ModelConfig config_;
  std::vector<RopeTable> ropes_;  ///< by kind of layer
  torch::Tensor embedding_, head_, norm_;
  std::vector<TorchLayer> layers_;
  std::shared_ptr<EngineTarget> engine_;  ///< null: libtorch
  std::shared_ptr<TargetMemory> memory_;
  bool gradient_checkpointing_ = false;
};

/// Layers whose entering residual streams heads are fed by default (EAGLE-3's choice): {2, N/2, N-3}; of a
/// model too small for that, three that it has.
std::vector<int> default_taps(const ModelConfig& target);

}  // namespace augur
