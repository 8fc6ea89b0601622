#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "files/weight_store.h"

namespace augur::fuzz {

/// Reads the first and the last rows of a tensor: what a loader would touch, in bounded time.
inline void read_some_rows(const StoredTensor& tensor) {
  constexpr std::int64_t kMostElements = 1 << 16;
  const bool is_vector = tensor.shape.size() < 2;
  const std::int64_t rows = is_vector ? 1 : tensor.shape[0];
  std::int64_t length = 1;
  for (std::size_t i = is_vector ? 0 : 1; i < tensor.shape.size(); ++i) length *= tensor.shape[i];
  if (rows == 0 || length > kMostElements) return;
  std::vector<float> values(static_cast<std::size_t>(length));
  try {
    read_rows(tensor, 0, 1, values.data());
    read_rows(tensor, rows - 1, 1, values.data());
  } catch (const Error&) {  // integer types
  }
}

}  // namespace augur::fuzz
