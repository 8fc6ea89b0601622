#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/learner.h"
#include "train/torch_llama.h"

namespace augur {

/// The `size` tokens that the dataset's learnable positions hold most often, ascending by id; equal counts by
/// ascending id. Every id in `always` is in. Error when size exceeds the vocabulary.
std::vector<TokenId> frequent_tokens(const Dataset& data, std::int32_t vocabulary, std::int32_t size,
                                     std::span<const TokenId> always);

/// EAGLE-3's draft head (Li et al. 2025) trained by its training-time test: the head runs `unroll` steps on
/// its own outputs, and step i's loss weighs decay^i. Loss: soft cross-entropy against the target's softmax
/// over the draft vocabulary, at positions to learn whose target argmax lies in that vocabulary.
///
/// Row i pairs the target's hidden states at position i with token i+1. In step s row i takes its own output
/// of step s-1 and token i+1+s, sits at rotary position i+s, and attends to step 0's rows 0..i and to its own
/// rows of steps 1..s. It predicts token i+2+s.
class Eagle3Learner : public Learner {
 public:
  struct Options {
    int unroll = 7;
    double decay = 0.8;
    std::uint64_t seed = 1;
    std::vector<double> tap_scales = {1, 1, 1};  ///< root mean square of each tap, for the initial weights
  };
  /// Ids of the layers entered whose residual streams feed the head: {2, N/2, N-3}.
  static std::vector<int> default_aux_layers(const ModelConfig& target);
  Eagle3Learner(const TorchLlama& target, std::vector<TokenId> draft_vocabulary, const Options& options);

  NamedTensors parameters() override;
  Grade run(const Example& example, bool learn) override;
  /// config.json and model.safetensors in the official layout (bfloat16 matrices, d2t as offsets).
  void save(const std::filesystem::path& folder) override;
  /// Starts from a head saved earlier (weights only).
  void load(const std::filesystem::path& folder);

 private:
  struct Cache;
  torch::Tensor layer(const torch::Tensor& hidden, const torch::Tensor& embedded, int step,
                      Cache& cache) const;

  const TorchLlama& target_;
  Options options_;
  std::vector<TokenId> draft_vocabulary_;
  torch::Tensor draft_ids_;      ///< [Vd] int64
  torch::Tensor in_vocabulary_;  ///< [V] bool
  RopeTable rope_;
  std::vector<int> aux_layers_;
  torch::Tensor fc_, q_, k_, v_, o_, gate_, up_, down_, head_;
  torch::Tensor hidden_norm_, input_norm_, post_norm_, norm_;
};

}  // namespace augur
