#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "draft/child_chooser.h"
#include "draft/dflash_head.h"
#include "draft/drafter.h"
#include "draft/registry.h"

namespace augur {

class DflashDrafter;

/// A head and the rows of its passes, shared by the drafters of all sequences.
struct DflashWeights {
  DflashWeights(const DrafterSource& source, bool dspark)
      : name(dspark ? "dspark" : "dflash"), head(source, dspark) {}

  void clear();
  TokenBatch batch() const {
    return {.tokens = tokens, .positions = positions, .parents = parents, .sequences = sequences};
  }
  /// A result that no drafter holds any more. Those of one pass share it until their rounds end.
  std::shared_ptr<DflashHead::Result> free_result();

  std::string_view name;
  DflashHead head;

  // One pass's rows, over all jobs.
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::vector<TokenBatch::Sequence> sequences;
  std::vector<float> features;
  std::vector<std::int32_t> wanted;
  std::vector<std::shared_ptr<DflashHead::Result>> results;

  std::vector<NodeLogits> nodes;
  ChildChooser chooser;

  // With a Markov head.
  struct Todo {
    DflashDrafter* drafter;
    const DraftTree* tree;
    std::int32_t node;
  };
  std::vector<DflashDrafter*> owners;  ///< of nodes
  std::vector<Todo> todo;              ///< nodes without a latent, parents before children
  std::vector<MarkovHead::Row> rows;
  std::vector<MarkovHead::Biased> biased;
  Buffer<float> logits;
};

/// Drafts with a DflashHead: one pass a round, at the root. Its cache holds keys and values for every token
/// that the target has run; the block's are dropped at once. A node of depth d takes its children from the
/// slot that predicts depth d + 1, whatever its own token (DFlash), or biased by it (DSpark), so the block
/// grows a tree of any shape; a chain is what the papers draft.
class DflashDrafter final : public Drafter {
 public:
  DflashDrafter(DflashWeights& weights, std::int64_t context)
      : weights_(weights), cache_(weights.head.make_cache(context)) {}

  std::string_view name() const override { return weights_.name; }
  DrafterTraits traits() const override;
  std::span<const int> tap_layers() const override { return weights_.head.config().taps; }
  void reset() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

  /// The slot's state that a node expanded in this round took its children from; empty for others.
  std::span<const float> state(std::int32_t node) const;
  /// DSpark's confidence at a node expanded in this round: the predicted chance that the token drawn after it
  /// is accepted, which ExpandOptions::least_confidence is about. Nothing for other nodes and heads without
  /// it.
  std::optional<float> confidence(std::int32_t node) const;

 private:
  std::int64_t waiting() const { return std::ssize(pending_) / weights_.head.features(); }
  bool wants_block(const ExpandJob& job) const;
  void store_chunk();
  void add_context(std::int64_t count);
  void finish_context(std::int64_t count);
  void add_block(const ExpandJob& job);
  void add_nodes(const ExpandJob& job);
  static void run_context(std::span<const ExpandJob> jobs);
  static void run_blocks(std::span<const ExpandJob> jobs);

  static void drop_doubted(DflashWeights& weights);
  static void add_bias(DflashWeights& weights);
  static void run_latents(DflashWeights& weights);
  void plan_latents(const DraftTree& tree, std::int32_t node);
  MarkovHead::Row markov_row(const DraftTree& tree, std::int32_t node);
  float* latent(std::int32_t node);

  DflashWeights& weights_;
  KvCache cache_;
  std::vector<float> pending_;  ///< [rows, features] of text that has no keys and values yet
  std::optional<KvTxn> txn_;    ///< of the pass in flight

  // This round's block.
  std::shared_ptr<DflashHead::Result> result_;
  int first_ = 0;                            ///< result row of the root's children
  int depths_ = 0;                           ///< levels that the block predicts
  std::vector<std::int32_t> depth_of_node_;  ///< by tree node; -1: not expanded

  // With a Markov head: rows of the nodes that have a latent.
  std::vector<std::int32_t> row_of_node_;  ///< by tree node; -1: none
  std::int64_t markov_rows_ = 0;
  std::vector<float> latents_;      ///< [rows, rank]
  std::vector<float> path_states_;  ///< [rows, rank]
  std::vector<float> confidences_;  ///< [rows]
};

/// DFlash heads: their own layout, and that of speculators and vLLM.
std::unique_ptr<DrafterModel> load_dflash_drafter(const DrafterSource& source);
/// DSpark heads, which are DFlash's with a Markov head: DeepSpec's layout, and that of speculators and vLLM.
std::unique_ptr<DrafterModel> load_dspark_drafter(const DrafterSource& source);

}  // namespace augur
