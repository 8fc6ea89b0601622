#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "kernels/ops.h"
#include "sampling/nucleus.h"
#include "sampling/position_noise.h"
#include "sampling/sampling_rules.h"
#include "sampling/sparse_distribution.h"
#include "sampling/token_mask.h"

namespace augur {

/// Buffers for one thread's sampling; they allocate nothing once they have grown.
struct SamplerScratch {
  std::vector<float> adjusted;       ///< [vocab] when mask, bias or penalties are on
  std::vector<std::int32_t> counts;  ///< [vocab] occurrences, all 0 between calls
  std::vector<TokenId> kept;         ///< candidates, in no particular order
  std::vector<float> kept_logits;    ///< their logits
  std::vector<float> weights;        ///< exp(scaled logit - max) of candidates; noise; scores
  std::vector<NucleusEntry> nucleus;
  TopKScratch top_k;

  /// Reserves memory for vocabularies of `vocab` tokens and these parameters.
  void reserve(const SamplingOptions& params, std::int64_t vocab);
};

/// Draws the tokens of one sequence. draw() is a pure function of (params, logits, context, position): the
/// token is argmax(log p + G) with p the distribution that the chain of SamplingOptions makes of the logits
/// and G the noise of the position. So a token does not depend on how the logits came about: step by step, in
/// a tree, in a batch. One thread at a time; no allocation once buffers have grown.
class Sampler {
 public:
  /// Throws Error for invalid parameters or a vocabulary of less than one token. `noise_rows`: number of
  /// positions that each of the two noises keeps.
  Sampler(SamplingOptions params, std::int64_t vocab_size, int noise_rows = PositionNoise::kUsualPositions);

  const SamplingOptions& params() const { return params_; }
  std::int64_t vocab_size() const { return vocab_size_; }

  /// The token at absolute `position`. `context` holds the tokens before it, prompt included (along a tree
  /// node's path), and is read by the penalties only. Tokens that `mask` does not allow have a logit of
  /// -infinity. Error for logits that are NaN, +infinity, or all -infinity.
  TokenId draw(std::span<const float> logits, std::span<const TokenId> context, std::int64_t position,
               TokenMask mask = {});

  /// The distribution that draw() draws from: what rejection verification compares with. Greedy: one token.
  /// Error as for draw().
  void processed(std::span<const float> logits, std::span<const TokenId> context, SparseDistribution& out,
                 TokenMask mask = {});
  /// The same for a drafter's logits, without the penalties. Returns false if they give no distribution: a
  /// logit is NaN or +infinity, or the bias forbids all tokens. scratch.kept_logits[i] is the processed logit
  /// of out.tokens[i]. May be called by many threads at a time, each with its own scratch.
  bool draft_law(std::span<const float> logits, SamplerScratch& scratch, SparseDistribution& out) const;

  /// Shared with coupled drafters (coupled_ranking.h).
  PositionNoise& noise() { return noise_; }
  /// Noise for draws from a drafter's distribution: independent of the target's.
  PositionNoise& draft_noise() { return draft_noise_; }

 private:
  void check(std::span<const float> logits) const;
  /// Logits after mask, bias and penalties; `logits` itself where these change nothing.
  std::span<const float> adjust(std::span<const float> logits, std::span<const TokenId> context,
                                TokenMask mask, SamplerScratch& s) const;
  void penalise(std::span<const TokenId> context, SamplerScratch& s) const;
  /// The distribution of adjusted logits. Returns false if no token is allowed.
  bool make_law(std::span<const float> logits, SamplerScratch& s, SparseDistribution& out) const;
  /// Applies the filters. Fills kept and kept_logits and returns true, or returns false if all tokens stay.
  bool filter(std::span<const float> logits, float max, SamplerScratch& s) const;
  void keep_top(std::span<const float> logits, std::int64_t k, SamplerScratch& s) const;
  void keep_nucleus(std::span<const float> logits, float max, SamplerScratch& s) const;
  void keep_min_p(float max, SamplerScratch& s) const;
  /// weights = exp((kept_logits - max) / temperature).
  void weigh_kept(float max, SamplerScratch& s) const;

  SamplingOptions params_;
  std::int64_t vocab_size_;
  float inverse_temperature_;
  PositionNoise noise_;
  PositionNoise draft_noise_;
  SamplerScratch scratch_;  ///< of draw() and processed()
};

}  // namespace augur
