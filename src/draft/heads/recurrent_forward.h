#pragma once
#include <memory>
#include <span>
#include <vector>

#include "draft/common/row_batch.h"
#include "draft/common/sequence_rows.h"
#include "draft/heads/recurrent_head.h"
#include "vocab/head_row.h"

namespace augur {

/// One forward of a RecurrentHead over all sequences that draft together: rows that wait, whose states come
/// of the target's features, and rows whose states the drafter gives. One thread at a time.
class RecurrentForward {
 public:
  explicit RecurrentForward(std::unique_ptr<RecurrentHead> head);

  RecurrentHead& head() const { return *head_; }
  const std::shared_ptr<RowPool>& features() const { return waiting_features_; }  ///< of all texts
  std::int64_t width() const { return head_->shape().state; }                     ///< of a state

  /// Takes note of accepted rows, which wait: the features of a row go with the token after it.
  void take_accepted(SequenceRows& sequence, const AcceptedRows& rows) const;
  /// Runs the first SequenceRows::kChunk rows that wait, if there are more: Drafter::run_chunk().
  bool run_chunk(SequenceRows& sequence);

  void clear();
  /// To which a drafter adds its tree's rows; each takes a call of add_state(), too, in order.
  RowBatch& batch() { return batch_; }
  bool empty() const { return batch_.empty(); }
  /// Adds `count` waiting rows, and as many placeholders as the head has behind them if
  /// `with_placeholders`. Returns the first row.
  int add_waiting(SequenceRows& sequence, std::int64_t count, bool with_placeholders = false);
  /// Of the next row of batch() that has none. [width()]
  void add_state(std::span<const float> state);

  void run();
  /// Of rows of the last run: the states to go on with. [count, width()]
  std::span<const float> results(int first, int count = 1) const;
  /// What the vocabulary head takes of a row of the last run.
  void fill(HeadRow& out, int row) const;

 private:
  struct FeatureRun {
    int first_row;
    int rows;
  };

  std::unique_ptr<RecurrentHead> head_;
  std::shared_ptr<RowPool> waiting_features_;
  RowBatch batch_;
  std::vector<float> features_;           ///< of the rows in feature_runs_, in order
  std::vector<FeatureRun> feature_runs_;  ///< rows whose states are yet to be projected
  std::vector<float> states_;             ///< [rows, width()]
  std::vector<float> projected_;
  std::span<const float> results_;  ///< [rows, width()]
};

}  // namespace augur
