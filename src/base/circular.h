#pragma once

namespace augur {

struct Circular {
  double cos = 0;
  double sin = 0;
};

/// Cosine and sine within 2^-51, whatever the size of the angle, with the same bits on every processor (see
/// elementary.h). NaN of infinities and NaN.
Circular circular(double angle);

}  // namespace augur
