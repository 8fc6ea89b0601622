#pragma once
#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace augur {

/// What a model takes of this machine's memory, found out without a weight being read.
struct ModelSize {
  std::int64_t stored_bytes = 0;     ///< of its tensors in their files, which are mapped
  std::int64_t weight_bytes = 0;     ///< of its packed matrices
  std::int64_t head_bytes = 0;       ///< of these, those of the matrix that gives logits
  std::int64_t workspace_bytes = 0;  ///< of a forward pass over a prompt's rows, about
  std::int64_t context = 0;          ///< tokens of the longest text
  std::int32_t vocab = 0;
  DType float_type = DType::BF16;  ///< of what is not quantised
  KvCache cache;                   ///< an empty one
};
/// The errors of Model::load(), as far as headers tell them.
ModelSize size_of(const Checkpoint& checkpoint, const ModelOptions& options);

/// Bytes of the cache of a text, in whole pages, while no tokens are in flight.
std::int64_t text_bytes(const KvCache& form, std::int64_t tokens);
/// Bytes by which each further token lengthens it, on average, however long it is.
std::int64_t token_bytes(const KvCache& form);

}  // namespace augur
