#include "base/circular.h"

#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace
}  // namespace augur
