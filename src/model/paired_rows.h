#pragma once
#include <cstdint>
#include <span>

#include "base/types.h"
#include "kernels/packed_matrix.h"
#include "model/device.h"
#include "model/workspace.h"

namespace augur {

/// What draft heads of the EAGLE kind read: a token's embedding and a hidden state side by side, each normed
/// or as it is. The buffer is reused: one thread at a time.
class PairedRows {
 public:
  /// What is referred to outlives the rows.
  struct Sources {
    const PackedMatrix* embedding = nullptr;  ///< [tokens, width], the device's or the host's
    std::span<const float> embedding_norm;    ///< [width]; empty: none
    std::span<const float> state_norm;        ///< [width]; empty: none
    float eps = 0.0f;                         ///< of both norms
    bool state_first = false;                 ///< [state; embedding] instead of [embedding; state]
  };

  /// Row r from tokens[r] and states [rows, width]. Error for a token that the embedding does not have.
  void fill(Device& device, const Sources& sources, std::span<const TokenId> tokens, const float* states);

  /// Of the last fill(): [rows, 2 * width], without gaps.
  const float* row(std::int64_t r) const { return rows_.floats(r); }
  /// The half of it that the state has become. [width]
  const float* state(std::int64_t r) const { return rows_.floats(r) + state_offset_; }

 private:
  RowBuffer rows_;
  std::int64_t state_offset_ = 0;
};

}  // namespace augur
