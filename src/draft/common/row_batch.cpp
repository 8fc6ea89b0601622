#include "draft/common/row_batch.h"

#include <cassert>

#include "tree/usual_sizes.h"

namespace augur {

RowBatch::RowBatch() {
  for (auto* rows : {&tokens_, &positions_, &parents_}) rows->reserve(kUsualPath);
}

void RowBatch::clear() {
  tokens_.clear();
  positions_.clear();
  parents_.clear();
  sequences_.clear();
}

int RowBatch::add_chain(KvTxn& txn, std::span<const TokenId> tokens, std::int64_t fillers, TokenId filler) {
  const int first = rows();
  const std::int64_t count = std::ssize(tokens) + fillers;
  assert(count <= txn.rows());
  for (std::int64_t i = 0; i < count; ++i) {
    const bool given = i < std::ssize(tokens);
    add_row(given ? tokens[static_cast<std::size_t>(i)] : filler, static_cast<std::int32_t>(txn.base() + i),
            i == 0 ? -1 : rows() - 1);
  }
  add_sequence({.kv = &txn, .first_row = first, .rows = static_cast<int>(count)});
  return first;
}

void RowBatch::add_row(TokenId token, std::int32_t position, std::int32_t parent) {
  tokens_.push_back(token);
  positions_.push_back(position);
  parents_.push_back(parent);
}

}  // namespace augur
