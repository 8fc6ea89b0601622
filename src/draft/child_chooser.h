#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "draft/drafter.h"
#include "kernels/ops.h"
#include "sampling/sparse_distribution.h"

namespace augur {

/// One node and the drafter's logits for the tokens that may follow it.
struct NodeLogits {
  DraftTree* tree = nullptr;
  std::int32_t node = 0;
  const ExpandOptions* options = nullptr;
  int count = 0;                  ///< children at most
  std::span<const float> logits;  ///< [draft vocabulary]
};

/// Turns rows of draft logits into children, for every drafter that has a probability law:
///   - the `count` most probable tokens, with their log-probabilities under softmax(logits), or
///   - ExpandOptions::sample: `count` draws without replacement from the law that the sequence's own sampling
///     parameters (penalties aside) make of the logits; that law is stored as the node's q. The noise is
///     independent of the target's and differs by position.
/// Rows are worked on by all threads, trees are changed by the caller's. Holds scratch: one thread at a time.
class ChildChooser {
 public:
  /// Children are added row by row, best first. `target_ids[i]` is the target's id of entry i of the draft
  /// vocabulary; empty: the same.
  void add_children(ThreadPool& pool, std::span<const NodeLogits> rows, std::span<const TokenId> target_ids);

 private:
  void rank(ThreadPool& pool, std::span<const NodeLogits> rows);
  void add_sampled(const NodeLogits& row, std::span<const TokenId> target_ids);

  std::int64_t width_ = 0;
  // Best entries of row i at [i * width_, ...).
  std::vector<std::int32_t> entries_;
  std::vector<float> log_probs_;
  std::vector<TopKScratch> scratch_;  ///< by thread

  // Of a sampled row.
  std::vector<float> padded_;  ///< [target vocabulary]
  SparseDistribution law_;
  std::vector<float> noise_;
  std::vector<std::size_t> order_;
};

}  // namespace augur
