#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/vocabulary/vocabulary_bench.h"

namespace augur {

/// How far a draft over the shortlist S agrees with the target in one context (DynaSpec, section 5), with p
/// the target's law, q the drafter's over S, and nothing proposed outside S (the paper's beta is 0).
struct Overlap {
  double overlap = 0;    ///< A = sum of min(p, q): the chance that a drawn draft is accepted (equation 4)
  double covered = 0;    ///< p(S)
  double tv_within = 0;  ///< total variation distance of p given S and q
  double bound = 0;      ///< p(S) - tv_within <= A (theorem 5.1)
  double best = 0;       ///< p of the best shortlist of the same size
};

/// `p` [vocabulary]; `shortlist` and `q` [tokens of S], q sums to 1.
Overlap overlap_of(std::span<const float> p, std::span<const TokenId> shortlist, std::span<const float> q);

/// Theorem 5.3 from mean overlaps by step: sum over i of the product of the first i.
double expected_length(std::span<const double> overlaps);

/// Averages over contexts of one vocabulary.
struct TheoryFigures {
  std::string vocabulary;
  std::int64_t contexts = 0;
  double tokens = 0;            ///< of a shortlist
  Overlap mean;                 ///< regret is best - covered
  double best_clusters = 0;     ///< p of the best as many clusters; 0: not of clusters
  std::vector<double> by_step;  ///< mean overlaps
  double expected_length = 0;   ///< drafted tokens accepted, by theorem 5.3
};

struct NamedVocabulary {
  std::string name;
  const VocabularyChoice* choice = nullptr;
};

struct TheoryOptions {
  int levels = 5;
  std::int64_t max_tokens = 96;
  std::uint64_t seed = 1;
};

struct TheoryResult {
  std::vector<TheoryFigures> figures;  ///< by vocabulary
  double measured_length = 0;          ///< drafted tokens accepted a round, of the whole vocabulary
};

/// Drafts chains over the whole vocabulary, accepted by rejection sampling at temperature 1, and looks at
/// every context that was reached: what would each vocabulary have proposed there? `go_on` may end it early.
TheoryResult measure_theory(VocabularyBench& bench, std::span<const std::vector<TokenId>> prompts,
                            std::span<const NamedVocabulary> vocabularies, const TheoryOptions& options,
                            const std::function<bool(double)>& go_on = {});

}  // namespace augur
