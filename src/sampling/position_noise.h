#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/types.h"

namespace augur {

/// The Gumbel noise of one sequence (see gumbel.h), with a cache of recent positions: a row is computed once
/// and serves every tree node of its depth, both for the target's draw and for coupled drafters. Rows are
/// allocated at first use, up to a fixed number; code that needs more positions at once must use its own
/// memory. For one thread at a time.
class PositionNoise {
 public:
  static constexpr int kUsualPositions = 16;  ///< deeper than most trees

  /// Keeps `rows` positions: in each residue class modulo `rows` the one used last.
  PositionNoise(std::uint64_t seed, std::int64_t vocab_size, int rows = kUsualPositions);

  std::uint64_t seed() const { return seed_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  /// Number of consecutive positions that are kept at the same time.
  std::int64_t rows() const { return std::ssize(rows_); }

  /// Noise of every token at an absolute position. Valid until a position `rows` away or more is asked for.
  std::span<const float> row(std::int64_t position);

  /// For computing a row on several threads: returns the row's memory, to be filled with gumbel_range(), or
  /// an empty span if the row is in the cache already. The row counts as computed after filled(); one that
  /// was claimed but not filled, because of an exception, is computed when it is next asked for.
  std::span<float> claim(std::int64_t position);
  void filled(std::int64_t position) { slot(position).position = position; }

  /// Noise of some tokens, with the same bits as in row(). For few tokens no whole row is computed.
  void at(std::int64_t position, std::span<const TokenId> tokens, float* out);

 private:
  struct Row {
    std::int64_t position = -1;
    Buffer<float> values;
  };
  Row& slot(std::int64_t position);

  std::uint64_t seed_;
  std::int64_t vocab_size_;
  std::vector<Row> rows_;
};

}  // namespace augur
