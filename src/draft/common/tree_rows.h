#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "draft/common/row_batch.h"
#include "model/kv_cache.h"
#include "tree/draft_tree.h"

namespace augur {

/// The nodes of one round's tree as rows of a cache: every level adds its nodes to one transaction, which
/// stays open until the round ends. A node attends to the cache's text and to its ancestors. One thread at a
/// time.
class TreeRows {
 public:
  /// `most`: rows that one round may take of the cache.
  explicit TreeRows(std::int64_t most);

  /// Rolls the transaction back, if it is open; tokens and parents stay until the next clear().
  void roll_back() { txn_.reset(); }
  /// Forgets the round's rows. Before the first level of every round.
  void clear();

  /// Adds the nodes of one level to the forward being collected, each a position after its parent, behind the
  /// text in `cache` where that has no row here (the root's children, when the root's own row is text). Nodes
  /// that have run before, whose parent was not run here, or that the cache has no room for are left out.
  /// Opens the transaction if need be. Returns the number of rows added.
  int add_level(KvCache& cache, const DraftTree& tree, std::span<const std::int32_t> nodes, RowBatch& batch);

  /// The node's row of the transaction; -1: it has not run.
  std::int32_t row_of(std::int32_t node) const {
    const auto index = static_cast<std::size_t>(node);
    return index < row_of_node_.size() ? row_of_node_[index] : -1;
  }
  /// The node's row of the batch that the last add_level() added to; -1: it is none of that level's.
  int batch_row(std::int32_t node) const {
    const std::int32_t row = row_of(node);
    return row < earlier_ ? -1 : first_batch_row_ + (row - earlier_);
  }

  // By row of the transaction.
  std::span<const TokenId> tokens() const { return tokens_; }
  std::span<const std::int32_t> parents() const { return parents_; }  ///< -1: the text

  /// The transaction, for those who go on with its rows; nothing if it is not open. Tokens and parents stay
  /// until the next clear().
  std::optional<KvTxn> take_transaction();

 private:
  std::int64_t most_;
  std::optional<KvTxn> txn_;
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> row_of_node_;  ///< by tree node; -1: not run
  std::int32_t earlier_ = 0;               ///< rows before the last level's
  int first_batch_row_ = 0;                ///< of the last level
};

}  // namespace augur
