#include "base/circular.h"

#include <cmath>
#include <cstdint>

namespace augur {

namespace {

// pi / 2 in three parts (Cody and Waite, as fdlibm has them). The first two have 33 bits, so that their
// products with a quadrant below 2^20 are exact.
constexpr double kHalfPi1 = 0x1.921fb544p+0;
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// Taylor's series, to where |x| <= pi / 4 leaves nothing of it.
double sine(double x) {
  const double y = x * x;
  double sum = 0;
  for (int n = 21; n >= 3; n -= 2) sum = -(y / (n * (n - 1))) * (1.0 + sum);
  return x + x * sum;
}

double cosine(double x) {
  const double y = x * x;
  double sum = 0;
  for (int n = 22; n >= 2; n -= 2) sum = -(y / (n * (n - 1))) * (1.0 + sum);
  return 1.0 + sum;
}

}  // namespace

Circular circular(double angle) {
  const double quadrant = std::nearbyint(angle * kTwoOverPi);
  const double x = ((angle - quadrant * kHalfPi1) - quadrant * kHalfPi2) - quadrant * kHalfPi3;
  const double s = sine(x);
  const double c = cosine(x);
  switch (static_cast<std::int64_t>(quadrant) & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

}  // namespace augur
