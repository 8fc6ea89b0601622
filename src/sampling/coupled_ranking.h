#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "kernels/ops.h"
#include "sampling/sampling_rules.h"

namespace augur {

// What is the target about to draw? It takes argmax(log p + G), and everybody knows the noise G of a position
// before the target has run. A drafter with the law q is almost right about log p, so it ranks its candidates
// by log q + G: the better q, the surer it hits the one token that will be drawn, however random that draw is
// (Daliri, Musco and Suresh, "Coupling without communication and drafter-invariant speculative decoding",
// 2024; here for whole trees). docs/coupling.md has the reasoning about scores, and measurements.

/// How a drafter's log-probabilities differ from the target's. The defaults were fitted to a small draft
/// model (docs/coupling.md).
struct DraftCalibration {
  /// Exponent of q: small models spread too much probability over the many tokens of the tail, where the
  /// noise would pick it up. 1: none, for a drafter that is exact.
  float sharpness = 1.2f;
  /// Scale of what remains, as a Gumbel variable about log q at temperature 1.
  float error = 1.5f;
};

/// One node's candidates.
struct CoupledRow {
  std::span<const float> logits;  ///< the drafter's, by entry of its vocabulary
  std::span<const float> noise;   ///< by entry, of the position that the candidates would take; greedy: none
  /// Tokens before the candidates that the penalties look at, in any order. Reordered.
  std::span<TokenId> recent;
  /// Entry of every target token, -1: none; empty: they are the same.
  std::span<const std::int32_t> entry_of_token;
  DraftCalibration calibration = {};
};

/// Memory of one thread's rankings: no allocation once it has grown.
struct CoupledScratch {
  std::vector<float> adjusted;  ///< logits after bias and penalties, where there are any
  std::vector<float> scores;    ///< perturbed, by entry
  std::vector<std::int32_t> best;
  std::vector<float> best_scores;
  TopKScratch top_k;

  /// For vocabularies of `entries` and `k` candidates.
  void reserve(std::size_t entries, int k);
};

/// The k entries that the target is most likely to draw, best first, and the log-probability of each. Fewer
/// where the filters of `params` leave fewer. Entries are ranked by
///   s = sharpness * logit / temperature + noise,  after bias, penalties and filters,
/// and s * temperature / error is a logit of the probability that the target draws the entry. Greedy: the
/// softmax of the logits, ranked by themselves. `entries` and `log_probs` hold k. Returns how many.
int rank_coupled(const SamplingOptions& params, const CoupledRow& row, int k, CoupledScratch& scratch,
                 std::int32_t* entries, float* log_probs);

}  // namespace augur
