#include "draft/common/tree_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "tree/usual_sizes.h"

namespace augur {

TreeRows::TreeRows(std::int64_t most) : most_(most) {
  tokens_.reserve(kUsualTree);
  for (auto* rows : {&parents_, &positions_, &row_of_node_}) rows->reserve(kUsualTree);
}

void TreeRows::clear() {
  roll_back();
  tokens_.clear();
  parents_.clear();
  positions_.clear();
  row_of_node_.clear();
  earlier_ = 0;
}

int TreeRows::add_level(KvCache& cache, const DraftTree& tree, std::span<const std::int32_t> nodes,
                        RowBatch& batch) {
  assert(txn_ || tokens_.empty());
  if (!txn_) txn_.emplace(cache.reserve(std::min(cache.room(), most_)));
  row_of_node_.resize(static_cast<std::size_t>(tree.size()), -1);
  earlier_ = static_cast<std::int32_t>(tokens_.size());
  first_batch_row_ = batch.rows();
  for (const std::int32_t node : nodes) {
    if (row_of(node) >= 0 || std::ssize(tokens_) == txn_->rows()) continue;
    const auto index = static_cast<std::size_t>(node);
    const std::int32_t parent = tree.parents()[index];
    const std::int32_t parent_row = parent < 0 ? -1 : row_of(parent);
    if (parent > DraftTree::kRoot && parent_row < 0) continue;
    const auto position = static_cast<std::int32_t>(
        parent_row < 0 ? txn_->base() : positions_[static_cast<std::size_t>(parent_row)] + 1);
    row_of_node_[index] = static_cast<std::int32_t>(tokens_.size());
    tokens_.push_back(tree.tokens()[index]);
    parents_.push_back(parent_row);
    positions_.push_back(position);
    batch.add_row(tokens_.back(), position, parent_row < 0 ? -1 : -2 - parent_row);
  }
  const int added = batch.rows() - first_batch_row_;
  if (added > 0) {
    batch.add_sequence({.kv = &*txn_,
                        .first_row = first_batch_row_,
                        .rows = added,
                        .earlier_rows = earlier_,
                        .earlier_parents = parents_.data()});
  }
  return added;
}

std::optional<KvTxn> TreeRows::take_transaction() {
  std::optional<KvTxn> taken;
  if (txn_) taken.emplace(std::move(*txn_));
  txn_.reset();
  return taken;
}

}  // namespace augur
