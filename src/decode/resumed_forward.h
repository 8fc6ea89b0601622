#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "model/model.h"

namespace augur {

/// The target's forward of one step when drafting has already run some rows of the trees through its first
/// layers (EarlyRows). Those layers run only for the other rows, the later layers for all; without such rows
/// this is one plain forward. The result has the same bits either way, because a row's bits do not depend on
/// its neighbours. For each step call begin(), then one add function for every sequence of the batch, in
/// order, then run(). For one thread at a time.
class ResumedForward {
 public:
  /// `lowest_tap`: the lowest layer whose input (residual stream) is asked for; it must not be one of the
  /// layers that rows skip. Memory is reserved for `sequences` with `rows` in all, so that an addition that
  /// throws has added nothing.
  void begin(int lowest_tap, std::size_t sequences, std::size_t rows);
  /// Adds the rows of a tree if any of `early` can be reused, namely those that are nodes of the tree. Then
  /// the transaction of `early` must become the sequence's, and node i is in its slot offsets()[i]. Returns
  /// false if nothing was added.
  bool add_tree(const DraftTree& tree, const EarlyRows& early);
  /// Adds rows that have not been run.
  void add_rows(int rows);
  /// The slots of the batch's rows, as offsets into their transactions.
  std::span<const std::int32_t> offsets() const { return offsets_; }

  void run(Model& target, const TokenBatch& batch, std::span<const Tap> taps);

 private:
  bool match(const DraftTree& tree, const EarlyRows& early);
  void collect_remaining(const TokenBatch& batch);

  int lowest_tap_ = 0;
  int layers_ = 0;                         ///< number of first layers that some rows skip; 0: no row does
  std::vector<const EarlyRows*> early_;    ///< by sequence; null: none
  std::vector<std::int32_t> early_row_;    ///< by row of the batch; -1: not run yet
  std::vector<std::int32_t> offsets_;      ///< by row of the batch
  std::vector<std::int32_t> matched_;      ///< scratch of match(): by node
  std::vector<TokenBatch::Sequence> all_;  ///< the batch's, with slots
  std::vector<float> entrance_;            ///< [rows, hidden] entering layer `layers_`

  // The first layers' forward.
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> parents_;
  std::vector<TokenBatch::Sequence> sequences_;
  std::vector<std::int32_t> rows_;      ///< this forward's rows, as rows of the batch
  std::vector<std::int32_t> place_of_;  ///< inverse of rows_
};

}  // namespace augur
