#include "base/circular.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace augur {
namespace {

TEST(Circular, IsWithinItsBoundOfTheExactValues) {
  std::mt19937_64 random(1);
  for (const double range : {0.1, 1.0, 10.0, 1000.0, 1048575.0}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    for (int i = 0; i < 20000; ++i) {
      const double angle = i == 0 ? 0.0 : i == 1 ? range : uniform(random);
      const Circular got = circular(angle);
      ASSERT_NEAR(got.cos, static_cast<double>(std::cos(static_cast<long double>(angle))), 0x1p-51) << angle;
      ASSERT_NEAR(got.sin, static_cast<double>(std::sin(static_cast<long double>(angle))), 0x1p-51) << angle;
    }
  }
}

/// Where three parts of pi / 2 no longer do: positions of ten million, and anything that a double can be.
TEST(Circular, IsWithinItsBoundOfLargeAngles) {
  std::mt19937_64 random(2);
  const auto check = [](double angle) {
    const Circular got = circular(angle);
    ASSERT_NEAR(got.cos, static_cast<double>(std::cos(static_cast<long double>(angle))), 0x1p-51) << angle;
    ASSERT_NEAR(got.sin, static_cast<double>(std::sin(static_cast<long double>(angle))), 0x1p-51) << angle;
  };
  for (const double angle :
       {1048575.0, 1048576.0, 1048577.0, 1e7, 0x1p30, 0x1p62, 0x1p63, 0x1p64, 0x1.fffffep127}) {
    check(angle);
    check(-angle);
  }
  std::uniform_real_distribution<double> positions(-0x1p30, 0x1p30);
  for (int i = 0; i < 100000; ++i) check(positions(random));
  for (int i = 0; i < 100000; ++i) {  // of every size up to 2^1023
    check(std::ldexp(std::uniform_real_distribution<double>(-2, 2)(random), 20 + i % 1003));
  }
  // Whole multiples of pi / 2 as near as doubles come to them.
  for (const double angle : {5.319372648326541e+255, 6381956970095103.0 * 0x1p797, 3.14159265358979e9})
    check(angle);
}

TEST(Circular, IsNotANumberOfWhatIsNoAngle) {
  for (const double angle :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(circular(angle).cos));
    EXPECT_TRUE(std::isnan(circular(angle).sin));
  }
}

}  // namespace
}  // namespace augur
