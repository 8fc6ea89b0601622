#include "base/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/arithmetic_law.h"
#include "base/circular.h"
#include "base/fnv1a.h"

// The C library's long double functions are the reference: eleven bits more than a double has.

namespace augur {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kMost = std::numeric_limits<double>::max();

/// |got - exact| in units of the last place of the exact value as a double.
double ulps(double got, long double exact) {
  const auto near = static_cast<double>(exact);
  if (std::isinf(near) || near == 0) return got == near ? 0 : kInfinity;
  const double unit = std::max(std::nextafter(std::abs(near), kInfinity) - std::abs(near), kLeast);
  return static_cast<double>(std::abs(got - exact) / unit);
}

/// The same number, or both NaN; zeros have signs.
void expect_same(double got, double expected, const char* what, double x, double y = 0) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << what << " " << x << " " << y << ": " << got;
  } else {
    EXPECT_EQ(got, expected) << what << " " << x << " " << y;
    EXPECT_EQ(std::signbit(got), std::signbit(expected)) << what << " " << x << " " << y;
  }
}

/// Positive doubles of every size, subnormal ones among them.
double any_positive(std::mt19937_64& random) {
  return std::bit_cast<double>(random() % std::bit_cast<std::uint64_t>(kInfinity));
}

TEST(Elementary, ExpIsWithinOneUlp) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (const double range : {1e-300, 1e-8, 0.1, 0.5, 1.0, 20.0, 100.0, 745.0}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    for (int i = 0; i < 50000; ++i) {
      const double x = i == 0 ? -range : uniform(random);
      const double error = ulps(elementary::exp(x), std::exp(static_cast<long double>(x)));
      ASSERT_LE(error, 1) << x;
      worst = std::max(worst, error);
    }
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST(Elementary, LogIsWithinOneUlp) {
  std::mt19937_64 random(2);
  double worst = 0;
  for (int i = 0; i < 400000; ++i) {
    // In turns: any size, and around 1, ever closer.
    const double near = 1 + std::uniform_real_distribution<double>(-0.5, 1)(random) * std::exp2(-(i % 50));
    const double x = i % 2 == 0 ? any_positive(random) : near;
    const double error = ulps(elementary::log(x), std::log(static_cast<long double>(x)));
    ASSERT_LE(error, 1) << x;
    worst = std::max(worst, error);
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST(Elementary, PowIsWithinOneUlp) {
  std::mt19937_64 random(3);
  double worst = 0;
  const auto check = [&](double x, double y) {
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    // A long double that is as large as a double can barely be is not told apart from infinity here.
    if (std::abs(exact) > 1e308L) return;
    const double error = ulps(elementary::pow(x, y), exact);
    ASSERT_LE(error, 1) << x << " " << y;
    worst = std::max(worst, error);
  };
  for (int i = 0; i < 200000; ++i) {
    const double x = any_positive(random);
    const double logarithm = std::log(x);
    // Whole range of results, down to subnormal ones.
    check(x, std::uniform_real_distribution<double>(-745, 709)(random) / logarithm);
    check(std::uniform_real_distribution<double>(0.5, 2)(random),
          std::uniform_real_distribution<double>(-1000, 1000)(random));
  }
  for (const double theta : {1e4, 5e5, 1e6, 1e7, 150000.0, 1e15}) {
    for (int i = 0; i < 512; ++i) check(theta, i / 512.0);
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST(Elementary, WholePowersOfTenAreExact) {
  double power = 1;
  for (int n = 0; n <= 22; ++n, power *= 10) {
    EXPECT_EQ(elementary::pow(10, n), power);
    EXPECT_EQ(elementary::pow(-10, n), n % 2 == 0 ? power : -power);
  }
}

TEST(Elementary, TanhIsWithinSixUlp) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200000; ++i) {
    const double x =
        std::uniform_real_distribution<double>(-1, 1)(random) * std::exp2(static_cast<double>(i % 60) - 50);
    ASSERT_LE(ulps(elementary::tanh(x), std::tanh(static_cast<long double>(x))), 6) << x;
  }
  for (const double x : {0.0, -0.0, 1e-300, kLeast, 400.0, -400.0, kMost, kInfinity, -kInfinity, kNaN}) {
    expect_same(elementary::tanh(x), std::tanh(x), "tanh", x);
  }
}

/// C's standard says what they are: the values of the C library.
TEST(Elementary, SpecialValuesAreThoseOfC) {
  const double values[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           -0.5,
                           2.0,
                           -2.0,
                           3.0,
                           -3.0,
                           2.5,
                           -2.5,
                           1e16,
                           1e300,
                           -1e300,
                           kLeast,
                           -kLeast,
                           kMost,
                           -kMost,
                           kNaN,
                           1e-300,
                           710.0,
                           -750,
                           746.0,
                           1e17,
                           9007199254740991.0,
                           9007199254740993.0,
                           kInfinity,
                           -kInfinity};
  for (const double x : values) {
    for (const double y : values) {
      const double expected = std::pow(x, y);
      if (std::isfinite(expected) && expected != 0 && std::abs(expected) != 1) {
        EXPECT_LE(ulps(elementary::pow(x, y), expected), 1) << x << " " << y;
      } else {
        expect_same(elementary::pow(x, y), expected, "pow", x, y);
      }
    }
    if (!(std::abs(x) < 700) || x == 0) expect_same(elementary::exp(x), std::exp(x), "exp", x);
    if (!(x > 0) || x == 1 || std::isinf(x)) expect_same(elementary::log(x), std::log(x), "log", x);
  }
}

/// Any compiler, any processor, any flags.
TEST(Elementary, BitsAreThoseOfTheLaw) {
  Fnv1a hash;
  const auto add = [&](double value) { hash.add(std::bit_cast<std::uint64_t>(value)); };
  std::uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int i = 0; i < 20000; ++i) {
    add(elementary::exp(-745 + 1454 * uniform()));
    add(elementary::log(1e6 * uniform()));
    const double power = 4 * uniform() - 2;
    add(elementary::pow(1e7 * uniform(), power));
    add(elementary::tanh(10 * uniform() - 5));
    const Circular small = circular(1e5 * uniform());
    const Circular large = circular(1e9 * uniform());
    for (const double value : {small.cos, small.sin, large.cos, large.sin}) add(value);
  }
  EXPECT_EQ(kArithmeticLaw, 4) << "the number below belongs to another law";
  EXPECT_EQ(hash.value(), 8352554903358001902u)
      << "these bits have changed: raise kArithmeticLaw, then write this number here";
}

}  // namespace
}  // namespace augur
