#pragma once

namespace augur {

struct Circular {
  double cos = 0;
  double sin = 0;
};

/// Cosine and sine of |angle| < 2^20, within 2^-51, with the same bits on every processor: the C library's
/// may use fused operations where there are some, and round differently.
Circular circular(double angle);

}  // namespace augur
