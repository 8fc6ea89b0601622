#include "base/circular.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace augur {

namespace {

// pi / 2 in three parts (Cody and Waite, as fdlibm has them). The first two have 33 bits, so that their
// products with a quadrant below 2^20 are exact.
constexpr double kHalfPi1 = 0x1.921fb544p+0;
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kLargest = 0x1p20;  ///< of angles that the three parts reduce

/// The bits of 2 / pi behind the point, 64 zeros before them: as many as the largest double asks for.
constexpr std::uint64_t kTwoOverPiBits[] = {
    0,
    0xa2f9836e4e441529u,
    0xfc2757d1f534ddc0u,
    0xdb6295993c439041u,
    0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u,
    0x06492eea09d1921cu,
    0xfe1deb1cb129a73eu,
    0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u,
    0x3991d639835339f4u,
    0x9c845f8bbdf9283bu,
    0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu,
    0x6d367ecf27cb09b7u,
    0x4f463f669e5fea2du,
    0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau,
    0x6bfb5fb11f8d5d08u,
};

/// angle = quadrant * pi / 2 + rest, |rest| <= pi / 4, the quadrant modulo 4.
struct Reduced {
  std::int64_t quadrant;
  double rest;
};

Reduced reduce_small(double angle) {
  const double quadrant = std::nearbyint(angle * kTwoOverPi);
  return {static_cast<std::int64_t>(quadrant),
          ((angle - quadrant * kHalfPi1) - quadrant * kHalfPi2) - quadrant * kHalfPi3};
}

/// Payne and Hanek's reduction, in whole numbers, of kLargest <= angle: of the product with 2 / pi, multiples
/// of 4 are left out before it is made.
Reduced reduce_large(double angle) {
  __extension__ using Wide = unsigned __int128;
  const auto bits = std::bit_cast<std::uint64_t>(angle);
  const std::uint64_t mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  const auto exponent = static_cast<int>(bits >> 52) - 1075;  // angle = mantissa * 2^exponent
  // From here on a bit of 2 / pi makes less than a multiple of 4.
  const auto first = static_cast<unsigned>(exponent + 62);
  const std::uint64_t* word = kTwoOverPiBits + first / 64;
  const unsigned shift = first % 64;
  const auto joined = [&](int i) {
    return shift == 0 ? word[i] : word[i] << shift | word[i + 1] >> (64 - shift);
  };
  const Wide window = static_cast<Wide>(joined(0)) << 64 | joined(1);
  const Wide product = window * mantissa;  // of quadrants, in units of 2^-126, modulo 4
  const auto fraction = static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> 62));
  return {static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> 126)) + (fraction < 0),
          static_cast<double>(fraction) * 0x1p-64 * kHalfPi};
}

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
  if (!std::isfinite(angle)) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    return {kNaN, kNaN};
  }
  if (angle <= -kLargest) {
    const Circular opposite = circular(-angle);
    return {opposite.cos, -opposite.sin};
  }
  const auto [quadrant, x] = angle < kLargest ? reduce_small(angle) : reduce_large(angle);
  const double s = sine(x);
  const double c = cosine(x);
  switch (quadrant & 3) {
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
