#pragma once
#include "model/kv_cache.h"

namespace augur::testing_support {

/// Room for a few rows of nothing much.
inline KvCache small_cache(std::int64_t capacity) {
  return KvCache({.layers = 1, .kv_heads = 1, .head_dim = 2, .capacity = capacity, .type = DType::F32});
}

}  // namespace augur::testing_support
