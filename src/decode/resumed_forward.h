#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "model/model.h"

namespace augur {

/// The target's forward of one step, where rows of some trees have been through its first layers before
/// (EarlyRows). Those layers run for the other rows only, the rest for all of them; without such rows it is
/// one plain forward. The bits are the same either way: a row's never depend on its neighbours. Per step:
/// begin; one addition for every sequence of the batch, in order; run.
class ResumedForward {
 public:
  /// `lowest_tap`: the first layer whose entering residual stream is asked for; it must not lie among the
  /// layers that rows skip. For so many sequences with so many rows in all the additions allocate nothing
  /// that stays: one that throws has added nothing.
  void begin(int lowest_tap, std::size_t sequences, std::size_t rows);
  /// The rows of a tree, if `early` is of use: its transaction is then to be the sequence's, and node i lies
  /// in slot offsets()[i] of it. All rows are reused that are nodes of the tree. False: nothing was added.
  bool add_tree(const DraftTree& tree, const EarlyRows& early);
  /// Rows that nobody has run.
  void add_rows(int rows);
  /// Slots of the batch's rows, as offsets into their transactions.
  std::span<const std::int32_t> offsets() const { return offsets_; }

  void run(Model& target, const TokenBatch& batch, std::span<const Tap> taps);

 private:
  bool match(const DraftTree& tree, const EarlyRows& early);
  void collect_remaining(const TokenBatch& batch);

  int lowest_tap_ = 0;
  int layers_ = 0;                         ///< that rows skip; 0: no row does
  std::vector<const EarlyRows*> early_;    ///< by sequence; null: none
  std::vector<std::int32_t> early_row_;    ///< by row of the batch; -1: has not been run
  std::vector<std::int32_t> offsets_;      ///< by row of the batch
  std::vector<std::int32_t> matched_;      ///< scratch of match(): by node
  std::vector<TokenBatch::Sequence> all_;  ///< the batch's, with slots
  std::vector<float> entrance_;            ///< [rows, hidden] entering layer `layers_`

  // The first layers' forward.
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> parents_;
  std::vector<TokenBatch::Sequence> sequences_;
  std::vector<std::int32_t> rows_;      ///< of the batch, by row of this forward
  std::vector<std::int32_t> place_of_;  ///< the inverse
};

}  // namespace augur
