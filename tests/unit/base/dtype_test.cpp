#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace augur {
namespace {

TEST(BF16, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f).bits, 0x3f80);  // tie: even below
  EXPECT_EQ(to_bf16(1.0f + 0x3p-8f).bits, 0x3f82);  // tie: even above
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(to_float(to_bf16(std::numeric_limits<float>::max()))));
}

TEST(Half, EveryFiniteValueSurvivesARoundTrip) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float f = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(f)) continue;
    EXPECT_EQ(float_to_half(f), bits);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);  // tie: even below
  EXPECT_EQ(float_to_half(1.0f + 0x3p-11f), 0x3c02);  // tie: even above
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);  // tie between the largest half and infinity
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);  // tie between zero and the smallest subnormal
  EXPECT_EQ(float_to_half(0x1.8p-24f), 0x0002);
}

}  // namespace
}  // namespace augur
