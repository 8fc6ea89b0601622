#pragma once
#include <cstdint>

#include "model/config.h"
#include "model/weights.h"

namespace augur {

/// The order in which files have the rows of a projection of queries or keys. A rotation turns pairs of a
/// head's leading dimensions. The engine's pairs are the two halves' i-th; some families' (GLM, ERNIE) are
/// neighbours, 2i and 2i + 1. As long as queries and keys agree, that is nothing but another order of the
/// rows.
struct RotaryOrder {
  int head_dim = 0;  ///< rows of a head
  int dims = 0;  ///< of these the leading ones whose pairs are neighbours, even; 0: rows are as the engine's

  /// Of the stored rows, the one that is the engine's row `row`.
  std::int64_t stored(std::int64_t row) const {
    if (dims == 0) return row;
    const std::int64_t within = row % head_dim;
    const std::int64_t half = dims / 2;
    if (within >= dims) return row;
    return row - within + within % half * 2 + within / half;
  }
};

/// What the family of `config` has in its files. All of a model's layers that rotate do so with as many
/// dimensions.
RotaryOrder rotary_order(const ModelConfig& config);

// Readers of the engine's rows, `k` values each, of what reads stored ones.
RowReader in_rotary_order(RowReader stored, const RotaryOrder& order, std::int64_t k);
StoredRows in_rotary_order(StoredRows stored, const RotaryOrder& order);

}  // namespace augur
