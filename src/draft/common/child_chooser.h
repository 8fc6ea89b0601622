#pragma once
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/thread_pool.h"
#include "draft/drafter.h"
#include "kernels/fused_top.h"
#include "kernels/ops.h"
#include "sampling/coupled_ranking.h"
#include "sampling/sampler.h"
#include "sampling/token_mask.h"

namespace augur {

/// One node and the drafter's logits for the tokens that may follow it.
struct NodeLogits {
  DraftTree* tree = nullptr;
  std::int32_t node = 0;
  const ExpandOptions* options = nullptr;
  int count = 0;                  ///< children at most
  std::span<const float> logits;  ///< of the draft vocabulary or the first entries of it
  std::span<const float> state;   ///< the drafter's hidden state there, for NodeWants::hidden; may be empty
  const RowTop* best = nullptr;   ///< in place of logits, where that many are enough and all may follow
};

/// Turns rows of draft logits into children, for every drafter that has a distribution of its own:
///   - the `count` most probable tokens, with their log-probabilities under softmax(logits), or
///   - ExpandOptions::coupled: the `count` tokens that the target is most likely to draw, with their
///     log-probabilities of being drawn (see coupled_ranking.h), or
///   - ExpandOptions::sample: `count` draws without replacement from the distribution that the sequence's own
///     sampling parameters (penalties aside) make of the logits; it is stored as the node's q. The noise is
///     independent of the target's and differs by position. Where the parameters leave no token that the
///     drafter knows, the node gets no children and no q.
/// Each among the tokens that ExpandOptions::masks allows after the node: others count as having a logit of
/// -infinity.
/// What ExpandOptions::wants asks for is recorded: entropies of softmax(logits), whatever the ranking. Logits
/// may be NaN or infinite: children end before the first whose log-probability is not finite, and a state
/// that is not finite is not recorded. Rows are worked on by all threads, trees are changed by the caller's.
/// Holds scratch: one thread at a time.
class ChildChooser {
 public:
  /// Children are added row by row, best first. `target_ids[i]` is the target's id of the rows' entry i, all
  /// different; empty: the same.
  void add_children(ThreadPool& pool, std::span<const NodeLogits> rows, std::span<const TokenId> target_ids);

 private:
  /// The noise of one position of one sequence.
  struct PositionRow {
    PositionNoise* source = nullptr;
    std::int64_t position = 0;
    bool kept = true;              ///< by the source; otherwise it is in deep_, for this call
    std::span<float> missing;      ///< to be computed
    std::span<const float> noise;  ///< by target token
    std::size_t gathered = 0;      ///< offset in gathered_: by entry of a reduced draft vocabulary
  };
  struct Scratch {
    TopKScratch top_k;
    CoupledScratch coupled;
    std::vector<TokenId> recent;
    std::vector<float> masked;  ///< logits of a row, with what may not follow left out
    // Of a row that is drawn from.
    std::vector<float> padded;  ///< [target vocabulary]
    SamplerScratch sampling;
    std::vector<float> noise;   ///< by token of the distribution
    std::vector<float> scores;  ///< the same
    std::exception_ptr failure;
  };

  void prepare(std::span<const NodeLogits> rows, std::span<const TokenId> target_ids);
  void compute_noise(Team& team, std::span<const TokenId> target_ids);
  /// Ranks a row by what its options ask for.
  void choose(NodeLogits row, std::size_t r, std::span<const TokenId> target_ids, Scratch& scratch);
  /// `reduced`: entries are not tokens.
  void rank(const NodeLogits& row, std::size_t r, bool reduced, Scratch& scratch);
  void measure(const NodeLogits& row, std::size_t r, Scratch& scratch);
  void record(const NodeLogits& row, std::size_t r) const;
  static void reserve_draws(const NodeLogits& row, Scratch& scratch);
  void rank_drawn(const NodeLogits& row, std::size_t r, std::span<const TokenId> target_ids,
                  Scratch& scratch);
  static void store_distribution(const NodeLogits& row, const SparseDistribution& distribution);

  std::int64_t width_ = 0;
  // Best entries of row i at [i * width_, ...), found_[i] of them; of a row that is drawn from, tokens.
  std::vector<std::int32_t> entries_;
  std::vector<float> log_probs_;
  std::vector<int> found_;
  std::vector<float> entropies_;      ///< by row, where they are wanted
  std::vector<float> top_entropies_;  ///< the same
  std::int64_t measured_ = 0;         ///< most probabilities that some row wants one of these over
  std::vector<Scratch> scratch_;      ///< by thread

  std::vector<TokenMask> masks_;  ///< by row
  std::vector<PositionRow> positions_;
  Buffer<float> deep_;  ///< [rows, vocabulary]: noise of positions beyond those that its source keeps
  std::vector<std::int32_t> position_of_;  ///< by row: into positions_; -1: no noise
  std::vector<float> gathered_;
  std::vector<std::int32_t> entry_of_token_;  ///< of a reduced draft vocabulary, where parameters ask for it
  std::vector<SparseDistribution> distributions_;  ///< by row: what it was drawn from
};

}  // namespace augur
