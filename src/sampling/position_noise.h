#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/types.h"

namespace augur {

/// The Gumbel noise of one sequence (see gumbel.h), with the rows of recent positions kept: a row is computed
/// once and serves every tree node of its depth, the target's draw and coupled drafters alike. Rows are
/// allocated when first used, and there are never more of them: whoever looks further ahead at once has
/// memory of their own. One thread at a time.
class PositionNoise {
 public:
  static constexpr int kUsualPositions = 16;  ///< deeper than most trees

  /// Keeps `rows` positions, whichever were used last in each residue class modulo `rows`.
  PositionNoise(std::uint64_t seed, std::int64_t vocab_size, int rows = kUsualPositions);

  std::uint64_t seed() const { return seed_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  /// So many positions in a row are kept beside each other.
  std::int64_t rows() const { return std::ssize(rows_); }

  /// Noise of every token at an absolute position. Valid until a position `rows` away or more is asked for.
  std::span<const float> row(std::int64_t position);

  /// For computing a row on several threads: the row's memory, to be filled with gumbel_range(), or nothing
  /// where the row is there already. It is there from filled() on: what is claimed and not filled, since
  /// something was thrown, is computed when it is asked for.
  std::span<float> claim(std::int64_t position);
  void filled(std::int64_t position) { slot(position).position = position; }

  /// Noise of some tokens, the same bits as row()'s. Computes no row for a few tokens.
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
