#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "draft/child_budget.h"
#include "draft/child_chooser.h"
#include "draft/drafter.h"
#include "draft/recurrent_head.h"
#include "draft/registry.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// A head and the rows of its forwards, shared by the drafters of all sequences.
struct RecurrentWeights {
  /// `vocabulary` may be null. Error for one that the head cannot have.
  RecurrentWeights(std::unique_ptr<RecurrentHead> with, const VocabularyChoice* vocabulary);

  void clear();
  /// Row `row` of those collected below: the logits of the children of a node of that depth are wanted, which
  /// the text reaches with probability `weight`.
  void want_logits(int row, int step, float weight = 1.0f);
  /// Runs the rows collected below, and computes the logits that are wanted: all of them, or only the
  /// `want_best` largest.
  void run(int want_best = 0);

  std::unique_ptr<RecurrentHead> head;
  VocabularyHead exit;

  // One forward's rows, over all jobs.
  struct FeatureRun {
    int first_row;
    int rows;
  };
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::vector<TokenBatch::Sequence> sequences;
  std::vector<float> features;           ///< of the rows in feature_runs, in order
  std::vector<FeatureRun> feature_runs;  ///< rows whose states are yet to be projected
  std::vector<float> states;             ///< [rows, state]
  std::vector<int> logit_rows;
  std::vector<HeadRow> head_rows;  ///< the same
  int best = 0;                    ///< of the last run

  std::span<const float> results;  ///< [rows, state] of the last run
  std::vector<NodeLogits> nodes;
  ChildChooser chooser;

 private:
  std::vector<float> projected_;
};

/// Drafts with a RecurrentHead (EAGLE-1/2/3, multi-token prediction layers). Its cache holds one row for
/// every token that the target has run. Accepted rows wait until the next round, then run together with the
/// target's states; the last of them predicts the root's children. Every further level runs in a transaction,
/// fed by its parents' results, and is rolled back at the end of the round.
class RecurrentDrafter final : public Drafter {
 public:
  RecurrentDrafter(RecurrentWeights& weights, std::int64_t context);

  std::string_view name() const override { return weights_.head->name(); }
  DrafterTraits traits() const override;
  std::span<const int> tap_layers() const override { return weights_.head->shape().taps; }
  void reset() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

  /// The head's state at a node expanded in this round (what its children's rows are fed); empty for others.
  std::span<const float> state(std::int32_t node) const;

 private:
  struct Todo {
    std::int32_t node;
    bool wanted;  ///< its children are asked for; otherwise it is an ancestor that has to run first
  };

  void plan(const ExpandJob& job);
  void add_rows(const ExpandJob& job);
  void add_text_rows(std::size_t count);
  void add_root(bool wanted);
  void add_level(const DraftTree& tree);
  void take_results(const ExpandJob& job);
  void offer(const ExpandJob& job, std::int32_t node, std::size_t row);
  void offer(const ExpandJob& job, std::int32_t node, std::span<const float> logits);
  void drop_pending(std::size_t count);
  void run_pending_chunk();
  bool has_run(std::int32_t node) const {
    return static_cast<std::size_t>(node) < row_of_node_.size() &&
           row_of_node_[static_cast<std::size_t>(node)] >= 0;
  }

  RecurrentWeights& weights_;
  KvCache cache_;
  // Rows that wait: their tokens (of the position after), and the target's states.
  std::vector<TokenId> pending_tokens_;
  std::vector<float> pending_features_;
  // The newest row that does not wait any more, for drafting twice from one root.
  TokenId last_token_ = -1;
  std::vector<float> last_features_;
  std::vector<float> root_state_;

  std::optional<KvTxn> txn_;                 ///< text rows of the forward in flight, or this round's levels
  std::vector<std::int32_t> level_parents_;  ///< rows of the levels so far, and their parents; -1: the root
  std::vector<float> level_states_;          ///< their results
  std::vector<std::int32_t> row_of_node_;    ///< by tree node; -1: not run
  std::vector<std::vector<float>> placeholder_logits_;  ///< by placeholder
  std::vector<float> placeholder_states_;               ///< [placeholders, state]

  // The expansion in flight.
  std::vector<Todo> todo_;  ///< parents before children
  std::vector<Todo> running_;
  int first_row_ = 0;
  int rows_ = 0;
  std::size_t first_logit_ = 0;
  ChildBudget budget_{ExpandOptions{}};
};

/// The shared part of a drafter type that drafts with `head`. `vocabulary` may be null.
std::unique_ptr<DrafterModel> make_recurrent_model(std::unique_ptr<RecurrentHead> head,
                                                   const VocabularyChoice* vocabulary);

}  // namespace augur
