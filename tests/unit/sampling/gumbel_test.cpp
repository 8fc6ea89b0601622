#include "sampling/gumbel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/philox.h"
#include "kernels/ops.h"
#include "sampling/position_noise.h"

namespace augur {
namespace {

/// The definition in float64: U is the midpoint of the cell that the 32 bits name, counted from the top.
double reference(std::uint64_t seed, std::int64_t position, TokenId token) {
  const auto p = static_cast<std::uint64_t>(position);
  const auto words = philox4x32({static_cast<std::uint32_t>(token) / 4, static_cast<std::uint32_t>(p),
                                 static_cast<std::uint32_t>(p >> 32), 0x67756d62u},
                                seed);
  const double v = (words[static_cast<std::size_t>(token % 4)] + 0.5) * 0x1p-32;
  return -std::log(-std::log1p(-v));
}

class GumbelTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { limit_ops_to(GetParam()); }
  void TearDown() override { limit_ops_to(supported_isas().back()); }
};

TEST_P(GumbelTest, FollowsItsDefinition) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{42}, ~std::uint64_t{0}}) {
    for (const std::int64_t position : {std::int64_t{0}, std::int64_t{7}, std::int64_t{1} << 40}) {
      std::vector<float> row(1003);
      gumbel_row(seed, position, row);
      for (std::size_t x = 0; x < row.size(); ++x) {
        const double expected = reference(seed, position, static_cast<TokenId>(x));
        ASSERT_NEAR(row[x], expected, 4e-7 * std::max(1.0, std::abs(expected))) << x;
      }
    }
  }
}

TEST_P(GumbelTest, RowsTokensAndVariantsHaveTheSameBits) {
  constexpr std::int64_t kVocab = 5001;
  std::vector<float> row(kVocab);
  gumbel_row(3, 11, row);
  std::vector<TokenId> tokens;
  for (TokenId t = kVocab - 1; t >= 0; t -= 3) tokens.push_back(t);
  std::vector<float> some(tokens.size());
  gumbel_at(3, 11, tokens, some.data());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(some[i], row[static_cast<std::size_t>(tokens[i])]) << tokens[i];
  }
  for (const std::size_t shorter : {std::size_t{1}, std::size_t{17}, std::size_t{513}}) {
    std::vector<float> part(shorter);
    gumbel_row(3, 11, part);
    ASSERT_EQ(std::memcmp(part.data(), row.data(), shorter * sizeof(float)), 0) << shorter;
  }
  limit_ops_to(Isa::Portable);
  std::vector<float> portable(kVocab);
  gumbel_row(3, 11, portable);
  ASSERT_EQ(std::memcmp(portable.data(), row.data(), row.size() * sizeof(float)), 0);
}

TEST_P(GumbelTest, RangesAreStretchesOfTheRow) {
  std::vector<float> row(1003);
  gumbel_row(7, 21, row);
  for (const std::size_t first : {std::size_t{4}, std::size_t{16}, std::size_t{500}, std::size_t{1000}}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{503}}) {
      std::vector<float> part(std::min(count, row.size() - first));
      gumbel_range(7, 21, static_cast<TokenId>(first), part);
      ASSERT_EQ(std::memcmp(part.data(), row.data() + first, part.size() * sizeof(float)), 0)
          << first << ", " << count;
    }
  }
}

TEST_P(GumbelTest, HasTheMomentsAndTheTailOfAGumbelLaw) {
  std::vector<float> row(1 << 16);
  double sum = 0.0;
  double squares = 0.0;
  double count = 0.0;
  int above_12 = 0;
  for (std::int64_t position = 0; position < 40; ++position) {
    gumbel_row(99, position, row);
    for (const float g : row) {
      ASSERT_TRUE(g >= kGumbelMin && g <= kGumbelMax);
      sum += g;
      squares += static_cast<double>(g) * g;
      above_12 += g > 12.0f ? 1 : 0;
      ++count;
    }
  }
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  EXPECT_NEAR(mean, 0.5772157, 5 * 1.2825 / std::sqrt(count));
  EXPECT_NEAR(variance, 1.6449341, 5 * 3.5 / std::sqrt(count));
  const double expected_above = count * -std::expm1(-std::exp(-12.0));
  EXPECT_NEAR(above_12, expected_above, 5 * std::sqrt(expected_above));
}

TEST_P(GumbelTest, ArgmaxWithNoiseTakesTheFirstOfEquals) {
  std::vector<float> x(100);
  std::vector<float> noise(100);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 10);
    noise[i] = static_cast<float>(9 - i % 10) * 0.5f;
  }
  EXPECT_EQ(argmax_with_noise(x, 3.0f, 0.5f, noise.data()), 0);  // all scores are equal
  noise[57] += 0.25f;
  noise[83] += 0.25f;
  EXPECT_EQ(argmax_with_noise(x, 3.0f, 0.5f, noise.data()), 57);
}

INSTANTIATE_TEST_SUITE_P(Variants, GumbelTest, testing::ValuesIn(supported_isas()),
                         [](const testing::TestParamInfo<Isa>& param) {
                           return std::string(name(param.param));
                         });

TEST(PositionNoise, KeepsRowsAndAnswersAlike) {
  constexpr std::int64_t kVocab = 4096;
  PositionNoise noise(5, kVocab, 4);
  const std::vector<TokenId> tokens = {4095, 0, 17, 2048};
  std::vector<float> before(tokens.size());
  noise.at(9, tokens, before.data());
  const std::span<const float> row = noise.row(9);
  ASSERT_EQ(row.data(), noise.row(9).data());
  std::vector<float> after(tokens.size());
  noise.at(9, tokens, after.data());
  EXPECT_EQ(before, after);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    EXPECT_EQ(row[static_cast<std::size_t>(tokens[i])], before[i]);
  const std::vector<float> copy(row.begin(), row.end());
  noise.row(13);  // takes position 9's place
  const std::span<const float> again = noise.row(9);
  EXPECT_TRUE(std::equal(copy.begin(), copy.end(), again.begin()));
}

TEST(PositionNoise, AClaimedRowIsTheOneThatOthersFind) {
  constexpr std::int64_t kVocab = 1001;
  PositionNoise noise(5, kVocab, 4);
  const std::span<float> mine = noise.claim(9);
  ASSERT_EQ(mine.size(), static_cast<std::size_t>(kVocab));
  gumbel_range(5, 9, 500, mine.subspan(500));  // as two threads would
  gumbel_range(5, 9, 0, mine.first(500));
  noise.filled(9);
  EXPECT_TRUE(noise.claim(9).empty());
  EXPECT_EQ(noise.row(9).data(), mine.data());
  PositionNoise alone(5, kVocab, 4);
  EXPECT_TRUE(std::ranges::equal(noise.row(9), alone.row(9)));
  EXPECT_TRUE(noise.claim(13).data() == mine.data());  // takes position 9's place
  EXPECT_FALSE(noise.claim(9).empty());
}

TEST(PositionNoise, AClaimedRowThatWasNotFilledIsComputedWhenItIsAskedFor) {
  constexpr std::int64_t kVocab = 1001;
  PositionNoise noise(5, kVocab, 4);
  PositionNoise alone(5, kVocab, 4);
  noise.row(13);
  std::ranges::fill(noise.claim(9), 7.0f);  // takes position 13's place
  EXPECT_TRUE(std::ranges::equal(noise.row(9), alone.row(9)));
  std::ranges::fill(noise.claim(13), 7.0f);
  EXPECT_TRUE(std::ranges::equal(noise.row(9), alone.row(9)));
  EXPECT_TRUE(std::ranges::equal(noise.row(13), alone.row(13)));
}

}  // namespace
}  // namespace augur
