#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace augur {

/// The rows of one forward pass, collected over all sequences that draft together.
class RowBatch {
 public:
  RowBatch();

  void clear();
  bool empty() const { return tokens_.empty(); }
  int rows() const { return static_cast<int>(tokens_.size()); }
  TokenId token(int row) const { return tokens_[static_cast<std::size_t>(row)]; }
  TokenBatch view() const {
    return {.tokens = tokens_, .positions = positions_, .parents = parents_, .sequences = sequences_};
  }

  /// Adds a sequence of rows that follow one another behind what the transaction's cache holds: `tokens`,
  /// then `fillers` times the token `filler`. They fill the transaction from its beginning; a row's position
  /// is its slot. Returns the first row.
  int add_chain(KvTxn& txn, std::span<const TokenId> tokens, std::int64_t fillers = 0, TokenId filler = 0);

  // Row by row: a row as in TokenBatch, and, once all rows of a sequence are there, what they are.
  void add_row(TokenId token, std::int32_t position, std::int32_t parent);
  void add_sequence(const TokenBatch::Sequence& sequence) { sequences_.push_back(sequence); }

 private:
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> parents_;
  std::vector<TokenBatch::Sequence> sequences_;
};

}  // namespace augur
