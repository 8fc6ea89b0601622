#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "model/model.h"

namespace augur {

struct PrefillOptions {
  int chunk = 256;  ///< rows per forward: enough to keep the multipliers busy, few enough for the caches
  /// After every chunk: tokens done of all. Return false to stop early; what is done stays in the cache.
  std::function<bool(std::int64_t done, std::int64_t total)> progress = {};
  /// After every chunk, with the index of its first token and the rows of its result ([rows, hidden], as
  /// result() gives them): for perplexities and for drafters that read hidden states.
  std::function<void(std::int64_t first, std::span<const float> hidden)> rows_done = {};
  ForwardOptions forward = {};  ///< taps are filled chunk by chunk: read them in rows_done
};

/// Appends `tokens` (at least one) to the sequence in `cache`, chunk by chunk. Returns the last row's hidden
/// state, [hidden], valid until the model's next call; Model::logits() then takes row
/// (rows of the last chunk - 1), or use Model::logits_of(). Empty when progress() stopped it before the end.
/// Error, before anything is computed, when the cache has no room for them.
std::span<const float> prefill(Model& model, std::span<const TokenId> tokens, KvCache& cache,
                               const PrefillOptions& options = {});

}  // namespace augur
