#include <gtest/gtest.h>

#include <cmath>

#include "model/config.h"
#include "model/rope_cache.h"

// Agreement of every scaling with transformers is tested end to end (tests/parity); here are the properties
// that small models cannot show.

namespace augur {
namespace {

using Scaling = RopeConfig::Scaling;

TEST(RopeTable, Plain) {
  const RopeTable table = make_rope_table({}, 64, 1);
  ASSERT_EQ(table.inverse_frequencies.size(), 32u);
  EXPECT_EQ(table.inverse_frequencies[0], 1.0f);
  EXPECT_NEAR(table.inverse_frequencies[16], 0.01, 1e-8);
  EXPECT_EQ(table.magnitude, 1.0f);
}

TEST(RopeTable, Llama3KeepsFastAndSlowsSlowFrequencies) {
  const RopeConfig rope{.theta = 500000.0,
                        .scaling = Scaling::Llama3,
                        .factor = 8,
                        .low_freq_factor = 1,
                        .high_freq_factor = 4,
                        .original_context = 8192};
  const RopeTable plain = make_rope_table({.theta = 500000.0}, 128, 1);
  const RopeTable scaled = make_rope_table(rope, 128, 1);
  EXPECT_EQ(scaled.inverse_frequencies.front(), plain.inverse_frequencies.front());
  EXPECT_FLOAT_EQ(scaled.inverse_frequencies.back(), plain.inverse_frequencies.back() / 8);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_LE(scaled.inverse_frequencies[i], plain.inverse_frequencies[i]);
    EXPECT_GE(scaled.inverse_frequencies[i] * 8.0001f, plain.inverse_frequencies[i]);
  }
}

TEST(RopeTable, DynamicIsPlainUpToTheOriginalContext) {
  const RopeConfig rope{.scaling = Scaling::Dynamic, .factor = 2, .original_context = 100};
  const RopeTable plain = make_rope_table({}, 32, 1);
  EXPECT_EQ(make_rope_table(rope, 32, 100).inverse_frequencies, plain.inverse_frequencies);
  EXPECT_LT(make_rope_table(rope, 32, 200).inverse_frequencies.back(), plain.inverse_frequencies.back());
}

TEST(RopeTable, YarnMagnitude) {
  RopeConfig rope{.scaling = Scaling::Yarn, .factor = 4, .original_context = 4096};
  EXPECT_FLOAT_EQ(make_rope_table(rope, 128, 1).magnitude, static_cast<float>(0.1 * std::log(4.0) + 1));
  rope.attention_factor = 1.5;
  EXPECT_EQ(make_rope_table(rope, 128, 1).magnitude, 1.5f);
}

TEST(RopeTable, FrequencyFactorsDivide) {
  const RopeConfig rope{.scaling = Scaling::Factors, .factors = {1.0, 2.0}};
  const RopeTable plain = make_rope_table({}, 4, 1);
  const RopeTable table = make_rope_table(rope, 4, 1);
  EXPECT_EQ(table.inverse_frequencies[0], plain.inverse_frequencies[0]);
  EXPECT_EQ(table.inverse_frequencies[1], plain.inverse_frequencies[1] / 2);
}

TEST(RopeCache, GrowsWithoutChangingRows) {
  const RopeTable table{.inverse_frequencies = {1.0f, 0.01f}, .magnitude = 2.0f};
  RopeCache cache(table, 5000);
  cache.ensure(3);
  const float before = cache.cos(2)[1];
  cache.ensure(4000);
  EXPECT_EQ(cache.cos(2)[1], before);
  EXPECT_FLOAT_EQ(cache.cos(0)[0], 2.0f);
  EXPECT_NEAR(cache.sin(3999)[0], 2 * std::sin(3999.0), 1e-6);
  cache.ensure(5000);
  EXPECT_NEAR(cache.cos(4999)[0], 2 * std::cos(4999.0), 1e-6);
}

}  // namespace
}  // namespace augur
