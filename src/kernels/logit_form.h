#pragma once
#include <cstdint>

#include "kernels/ops.h"

namespace augur {

/// What a family makes of the results of its output matrix: both are rising, so the order of tokens stays.
struct LogitForm {
  float scale = 1.0f;  ///< of them
  float cap = 0.0f;    ///< > 0: soft limit of them after that

  bool is_identity() const { return scale == 1.0f && cap <= 0.0f; }
  void apply(float* y, std::int64_t n) const {
    if (scale != 1.0f) scale_row(y, scale, n);
    if (cap > 0.0f) cap_row(y, cap, n);
  }
};

}  // namespace augur
