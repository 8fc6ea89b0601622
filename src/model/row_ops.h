#pragma once
#include <cstdint>
#include <span>

#include "kernels/backend.h"
#include "model/workspace.h"

namespace augur {

/// Calls work(r) once for every row r of [0, rows), whose order and thread are not said; rows must not depend
/// on one another, and `work` must not throw. Rows of `width` elements that are few are the caller's own
/// work: waking the other threads takes longer.
template <class Work>
void for_each_row(Backend& backend, std::int64_t rows, std::int64_t width, const Work& work) {
  if (rows * width <= Workspace::kOwnElements) {
    for (std::int64_t r = 0; r < rows; ++r) work(r);
    return;
  }
  backend.pool.run([&](Team& team) {
    const Range mine = team.split(rows);
    for (std::int64_t r = mine.begin; r < mine.end; ++r) work(r);
  });
}

/// Rows in memory, one every `stride` floats.
struct FloatRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

/// out[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight, for rows of weight.size(). `out` may be where x is.
void norm_rows(Backend& backend, FloatRows x, std::int64_t rows, std::span<const float> weight, float eps,
               float* out, std::int64_t out_stride);

}  // namespace augur
