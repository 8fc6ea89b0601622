#include "base/elementary.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace augur::elementary {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr double kLog2e = 0x1.71547652b82fep+0;
// log(2) in two parts: the first has 33 bits, so that its product with an exponent is exact.
constexpr double kLog2High = 0x1.62e42fefp-1;
constexpr double kLog2Low = 0x1.473de6af278edp-34;

/// A number as a sum, of which `low` is what does not fit into `high` (Dekker, 1971): 106 bits.
struct Pair {
  double high = 0;
  double low = 0;
};

/// a + b, exactly; |a| >= |b|, or a is 0.
Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b, exactly (Knuth).
Pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double second = sum - a;
  return {sum, (a - (sum - second)) + (b - second)};
}

/// a * b, exactly unless it underflows.
Pair exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

Pair operator+(const Pair& a, const Pair& b) {
  const Pair sum = exact_sum(a.high, b.high);
  return ordered_sum(sum.high, sum.low + (a.low + b.low));
}

Pair operator*(const Pair& a, const Pair& b) {
  const Pair product = exact_product(a.high, b.high);
  return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/// a / b.
Pair quotient(double a, const Pair& b) {
  const double quotient = a / b.high;
  return ordered_sum(quotient, (std::fma(-quotient, b.high, a) - quotient * b.low) / b.high);
}

/// 2^exponent of a normal number.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// x * 2^exponent, |exponent| < 2000, rounded once: the first product is exact for x near 1.
double scaled(double x, int exponent) {
  return x * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2);
}

constexpr auto kInverseFactorials = [] {
  std::array<double, 17> values{};
  double factorial = 1;
  for (int n = 0; n < 17; ++n) {
    if (n > 0) factorial *= n;
    values[static_cast<std::size_t>(n)] = 1 / factorial;
  }
  return values;
}();

/// e^x - 1 - x by Taylor's series, which leaves nothing of |x| <= log(2) / 2.
double exp_rest(double x) {
  double sum = 0;
  for (std::size_t n = kInverseFactorials.size() - 1; n >= 2; --n) sum = sum * x + kInverseFactorials[n];
  return x * x * sum;
}

/// e^(x.high + x.low).
double exp_of(const Pair& x) {
  if (x.high > 710) return kInfinity;
  if (x.high < -746) return 0;
  const double exponent = std::nearbyint(x.high * kLog2e);
  const Pair r = exact_sum(x.high - exponent * kLog2High, x.low - exponent * kLog2Low);
  const double rest = exp_rest(r.high);
  const Pair sum = ordered_sum(1, r.high);
  return scaled(sum.high + (rest + (sum.low + r.low * (sum.high + rest))), static_cast<int>(exponent));
}

/// log(x), x positive and finite: of x = 2^e * m with m around 1 the sum of e log(2) and 2 artanh((m - 1) /
/// (m + 1)).
Pair log_of(double x) {
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;  ///< of sqrt(1/2): m is at least that
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto more = static_cast<std::int64_t>(bits - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(more) << 52));
  exponent += static_cast<int>(more);

  const Pair s = quotient(m - 1, exact_sum(m, 1));
  const Pair square = s * s;
  constexpr Pair kTwoThirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
  const Pair cubic = s * square * kTwoThirds;
  double sum = 0;
  for (int n = 25; n >= 5; n -= 2) sum = sum * square.high + 2.0 / n;
  const double rest = s.high * square.high * square.high * sum;
  const Pair of_m = Pair{2 * s.high, 2 * s.low} + (cubic + Pair{rest, 0});
  return Pair{exponent * kLog2High, exponent * kLog2Low} + of_m;
}

bool is_whole(double x) {
  return std::trunc(x) == x;
}

/// x^y of a positive, finite x and a finite y.
double positive_pow(double x, double y) {
  const Pair logarithm = log_of(x);
  const double size = logarithm.high * y;
  if (std::abs(size) > 1000) return size > 0 ? kInfinity : 0;
  return exp_of(logarithm * Pair{y, 0});
}

}  // namespace

double exp(double x) {
  return std::isnan(x) ? x : exp_of({x, 0});
}

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : std::isnan(x) ? x : kNaN;
  return std::isinf(x) ? x : log_of(x).high;
}

double pow(double x, double y) {
  if (x == 1 || y == 0) return 1;
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  const double base = std::abs(x);
  if (std::isinf(y)) return base == 1 ? 1 : (base > 1) == (y > 0) ? kInfinity : 0;
  const bool odd = is_whole(y) && !is_whole(y / 2);
  if (x < 0 && std::isfinite(x) && !is_whole(y)) return kNaN;
  double result;
  if (base == 0 || std::isinf(base)) {
    result = (base == 0) == (y > 0) ? 0 : kInfinity;
  } else {
    result = positive_pow(base, y);
  }
  return odd && std::signbit(x) ? -result : result;
}

double tanh(double x) {
  if (std::isnan(x)) return x;
  const double twice = 2 * std::abs(x);
  double result;
  if (twice < kLog2High / 2) {  // where e^twice - 1 would cancel
    const double grown = twice + exp_rest(twice);
    result = grown / (2 + grown);
  } else {
    result = 1 - 2 / (exp(twice) + 1);
  }
  return std::copysign(result, x);
}

}  // namespace augur::elementary
