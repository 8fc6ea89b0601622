#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "draft/common/candidates.h"
#include "draft/common/row_batch.h"
#include "draft/common/sequence_rows.h"
#include "draft/drafter.h"
#include "draft/heads/dflash_head.h"
#include "draft/registry.h"

namespace augur {

/// A head and the rows of its passes, shared by the drafters of all sequences.
struct DflashWeights {
  DflashWeights(const DrafterSource& source, bool dspark)
      : name(dspark ? "dspark" : "dflash"),
        head(source, dspark),
        waiting_features(std::make_shared<RowPool>(head.features())) {}

  /// A result buffer that no drafter uses any more. The drafters of one pass share a buffer until their
  /// rounds end.
  std::shared_ptr<DflashHead::Result> free_result();

  std::string_view name;
  DflashHead head;
  std::shared_ptr<RowPool> waiting_features;  ///< of all texts

  // One pass, over all jobs.
  RowBatch batch;
  std::vector<float> features;
  std::vector<std::int32_t> wanted;  ///< rows
  std::vector<std::shared_ptr<DflashHead::Result>> results;
  Candidates candidates;

  // With a Markov head, by candidate.
  std::vector<MarkovHead::Row> latents;
  std::vector<MarkovHead::Biased> biased;
};

/// Drafts with a DflashHead: one pass in each round, at the root. Its cache has keys and values of every
/// token that the target has run; those of the block are dropped after the pass. The children of a node of
/// depth d come from the slot that predicts depth d + 1, independent of the node's own token (DFlash), or
/// biased by it (DSpark). So a block can give a tree of any shape; the papers draft a chain.
class DflashDrafter final : public Drafter {
 public:
  DflashDrafter(DflashWeights& weights, std::int64_t context)
      : weights_(weights), sequence_(weights.head.make_cache(context), weights.waiting_features) {}

  std::string_view name() const override { return weights_.name; }
  DrafterTraits traits() const override;
  std::span<const int> tap_layers() const override { return weights_.head.config().taps; }
  void reset() override;
  SequenceRows* sequence_rows() override { return &sequence_; }
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, sequence_.waiting()); }
  bool run_chunk() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  bool drafts(const ExpandJob& job) const;
  void add_waiting(std::int64_t count);
  void add_block(const ExpandJob& job);
  void add_nodes(const ExpandJob& job, std::size_t index);
  static void run_waiting(std::span<const ExpandJob> jobs);
  static void run_blocks(std::span<const ExpandJob> jobs);

  static void run_markov(DflashWeights& weights);
  MarkovHead::Row markov_row(const DraftTree& tree, std::int32_t node);
  std::int32_t row_of(std::int32_t node) const;

  DflashWeights& weights_;
  SequenceRows sequence_;  ///< rows of features, which have keys and values once they have run

  // This round's block.
  std::optional<KvTxn> block_;  ///< of the pass in flight
  std::shared_ptr<DflashHead::Result> result_;
  int first_ = 0;   ///< result row of the root's children
  int depths_ = 0;  ///< levels that the block predicts

  // With a Markov head: rows of the expanded nodes.
  std::vector<std::int32_t> row_of_node_;  ///< by tree node; -1: none
  std::int32_t markov_rows_ = 0;
  std::vector<float> latents_;      ///< [rows, rank]
  std::vector<float> path_states_;  ///< [rows, rank]
  /// [rows] predicted probability that a token drawn after the row is accepted
  /// (ExpandOptions::least_confidence).
  std::vector<float> confidences_;
};

}  // namespace augur
