#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "kernels/ops.h"
#include "sampling/sampling_rules.h"

namespace augur {

// The target samples argmax(log p + G), and the noise G of a position is known before the target has run. A
// drafter whose distribution q is close to p ranks its candidates by log q + G: the better q, the more often
// the first candidate is the token that will be sampled, even at high temperature (Daliri, Musco and Suresh,
// "Coupling without communication and drafter-invariant speculative decoding", 2024; here for whole trees).
// docs/coupling.md derives the scores and has measurements.

/// How a drafter's log-probabilities differ from the target's. The defaults were fitted to a small draft
/// model (docs/coupling.md).
struct DraftCalibration {
  /// Exponent of q: small models give too much probability to the many tokens of the tail, which the noise
  /// would then select. 1: no correction, for a drafter that is exact.
  float sharpness = 1.2f;
  /// Scale of the remaining error, as a Gumbel variable added to log q at temperature 1.
  float error = 1.5f;
};

/// One node's candidates.
struct CoupledRow {
  std::span<const float> logits;  ///< the drafter's, by entry of its vocabulary
  std::span<const float> noise;   ///< by entry, for the candidates' position; empty when greedy
  /// The tokens before the candidates that penalties look at, in any order. They are reordered.
  std::span<TokenId> recent;
  /// Entry of every target token, -1: none; empty: entries are token ids.
  std::span<const std::int32_t> entry_of_token;
  DraftCalibration calibration = {};
};

/// Buffers for one thread's rankings; they allocate nothing once they have grown.
struct CoupledScratch {
  std::vector<float> adjusted;  ///< logits after bias and penalties, if there are any
  std::vector<float> scores;    ///< perturbed, by entry
  std::vector<std::int32_t> best;
  std::vector<float> best_scores;
  TopKScratch top_k;

  /// Reserves memory for vocabularies of `entries` and `k` candidates.
  void reserve(std::size_t entries, int k);
};

/// The k entries that the target is most likely to sample, best first, and the log-probability of each; fewer
/// if the filters of `params` leave fewer. Entries are ranked by
///   s = sharpness * logit / temperature + noise,  after bias, penalties and filters,
/// and s * temperature / error is a logit of the probability that the target samples the entry. Greedy:
/// ranked by the logits, with the log-probabilities of their softmax. `entries` and `log_probs` have room for
/// k. Returns the number of entries.
int rank_coupled(const SamplingOptions& params, const CoupledRow& row, int k, CoupledScratch& scratch,
                 std::int32_t* entries, float* log_probs);

}  // namespace augur
