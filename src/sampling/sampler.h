#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "kernels/ops.h"
#include "sampling/nucleus.h"
#include "sampling/position_noise.h"
#include "sampling/sampling_params.h"
#include "sampling/sparse_distribution.h"

namespace augur {

/// Draws the tokens of one sequence. draw() is a pure function of (params, logits, context, position): the
/// token is argmax(log p + G) with p the distribution that the chain of SamplingParams makes of the logits
/// and G the noise of the position. So a token does not depend on how the logits came about: step by step, in
/// a tree, in a batch. One thread at a time; no allocation once buffers have grown.
class Sampler {
 public:
  /// Error for invalid params or a vocabulary of less than one token.
  Sampler(SamplingParams params, std::int64_t vocab_size);

  const SamplingParams& params() const { return params_; }
  std::int64_t vocab_size() const { return vocab_size_; }

  /// The token at absolute `position`. `context` holds the tokens before it, prompt included (along a tree
  /// node's path), and is read by the penalties only. Error for logits that are NaN, +infinity, or all
  /// -infinity.
  TokenId draw(std::span<const float> logits, std::span<const TokenId> context, std::int64_t position);

  /// The distribution that draw() draws from: what rejection verification compares with. Greedy: one token.
  void processed(std::span<const float> logits, std::span<const TokenId> context, SparseDistribution& out);

  /// Shared with coupled drafters (coupled_ranking.h).
  PositionNoise& noise() { return noise_; }

 private:
  /// Logits after bias and penalties; `logits` itself where these change nothing.
  std::span<const float> adjust(std::span<const float> logits, std::span<const TokenId> context);
  void penalise(std::span<const TokenId> context);
  /// Applies the filters: fills kept_ and kept_logits_ and returns true, or returns false when all tokens
  /// stay.
  bool filter(std::span<const float> logits, float max);
  void keep_top(std::span<const float> logits, std::int64_t k);
  void keep_nucleus(std::span<const float> logits, float max);
  void keep_min_p(float max);
  void resize_kept(std::size_t count);
  /// weights_ = exp((kept_logits_ - max) / temperature).
  void weigh_kept(float max);

  SamplingParams params_;
  std::int64_t vocab_size_;
  float inverse_temperature_;
  PositionNoise noise_;

  std::vector<float> adjusted_;       // [vocab] when bias or penalties are on
  std::vector<std::int32_t> counts_;  // [vocab] occurrences, all 0 between calls
  std::vector<TokenId> kept_;         // candidates, in no particular order
  std::vector<float> kept_logits_;    // their logits
  std::vector<float> weights_;        // exp(scaled logit - max) of candidates; noise; scores
  std::vector<NucleusEntry> nucleus_;
  TopKScratch top_k_;
};

}  // namespace augur
