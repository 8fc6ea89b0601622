#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "draft/common/candidates.h"
#include "draft/common/sequence_rows.h"
#include "draft/common/tree_rows.h"
#include "draft/drafter.h"
#include "draft/heads/recurrent_forward.h"
#include "draft/registry.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// A head, shared by the drafters of all sequences.
struct RecurrentWeights {
  /// `vocabulary` may be null. Error for one that the head cannot have.
  RecurrentWeights(std::unique_ptr<RecurrentHead> head, const VocabularyChoice* vocabulary);

  RecurrentForward forward;
  VocabularyHead exit;
  Candidates candidates;
};

/// Drafts with a RecurrentHead (EAGLE-1/2/3, multi-token prediction layers). Its cache holds one row for
/// every token that the target has run. Accepted rows wait until the next round, then run together with the
/// target's states; the last of them predicts the root's children. Every further level takes its parents'
/// results as input.
class RecurrentDrafter final : public Drafter {
 public:
  RecurrentDrafter(RecurrentWeights& weights, std::int64_t context);

  std::string_view name() const override { return weights_.forward.head().name(); }
  std::span<const int> tap_layers() const override { return weights_.forward.head().shape().taps; }
  void reset() override;
  SequenceRows* sequence_rows() override { return &sequence_; }
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, sequence_.waiting()); }
  bool run_chunk() override { return weights_.forward.run_chunk(sequence_); }
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  void catch_up(const ExpandJob& job);
  void add_root(const ExpandJob& job, std::size_t index);
  void add_level(const ExpandJob& job, std::size_t index);
  void take_results();
  std::span<const float> state(std::int32_t node) const;

  RecurrentWeights& weights_;
  SequenceRows sequence_;
  TreeRows tree_;
  std::vector<float> root_state_;    ///< result of the root's row; empty: it has not run in this round
  std::vector<float> level_states_;  ///< results of tree_'s rows
  int first_row_ = 0;                ///< of the forward in flight: this drafter's
  int rows_ = 0;
};

/// The shared part of a drafter type that drafts with `head`. `vocabulary` may be null.
std::unique_ptr<DrafterModel> make_recurrent_model(std::unique_ptr<RecurrentHead> head,
                                                   const VocabularyChoice* vocabulary);

}  // namespace augur
