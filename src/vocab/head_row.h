#pragma once
#include <cstdint>
#include <span>

#include "base/types.h"
#include "kernels/logit_form.h"
#include "kernels/ops.h"
#include "model/device.h"

namespace augur {

class Model;

/// A row that a drafter projects to logits, and what a shortlist may depend on beside it.
struct HeadRow {
  const float* state = nullptr;     ///< [k] what is projected, before the norm
  const float* previous = nullptr;  ///< [k] the drafter's state before the token; null: unknown
  TokenId token = -1;               ///< the newest token that the logits depend on; -1: unknown
  int step = 0;                     ///< of the draft: 0 for the children of the root, and so on
  int sequence = 0;                 ///< rows of one sequence share a budget
  float weight = 1.0f;              ///< the drafter's probability that the text gets there, within the draft
};

/// A drafter's last projection, whole. What is referred to outlives it.
struct HeadWeights {
  Device* device = nullptr;
  const PackedMatrix* matrix = nullptr;     ///< [entries, k], the device's or the host's
  const PackedMatrix* embedding = nullptr;  ///< [tokens, k], for routers that read embeddings; may be null
  std::span<const float> norm;              ///< [k] of the RMS norm before it; empty: none
  float eps = 0.0f;
  std::span<const float> bias;          ///< [entries rounded up to 16]; empty: none
  LogitForm form;                       ///< of the results, the bias included: the target's with its matrix
  std::span<const TokenId> target_ids;  ///< the target's id of each entry; empty: the same
  std::int64_t usable = 0;              ///< entries from here on are never proposed
  bool gives_previous = false;          ///< its rows have HeadRow::previous

  TokenId target_id(std::int64_t entry) const {
    return target_ids.empty() ? static_cast<TokenId>(entry) : target_ids[static_cast<std::size_t>(entry)];
  }
};

/// The head of a whole model: its final norm, its matrix, and what it makes of the results.
HeadWeights head_of(const Model& model);

/// Rows `entries` of `from`, in that order, as a matrix of the device; bit for bit.
PackedMatrix gather_rows(Device& device, const PackedMatrix& from, std::span<const std::int32_t> entries);
/// The same, not to be written to: engines with the same matrix, which lives as long, share them.
PackedMatrix gather_shared_rows(Device& device, const PackedMatrix& from,
                                std::span<const std::int32_t> entries);

/// A state [k] as the head projects it: normed, in `form`.
inline void load_head_row(const HeadWeights& weights, const float* state, InputForm form, void* out) {
  const std::int64_t width = weights.matrix->k();
  if (weights.norm.empty()) {
    convert_row(state, width, form, out);
  } else {
    rms_norm(state, weights.norm.data(), weights.eps, width, form, out);
  }
}

}  // namespace augur
