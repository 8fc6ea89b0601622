#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace augur {
namespace {

TEST(Logprobs, OfADistributionAreItsOwn) {
  const SparseDistribution distribution{.tokens = {2, 5, 9, 11}, .probs = {0.25f, 0.5f, 0.25f, 0.0f}};
  const TokenLogprobs of = logprobs(distribution, 9, 10);
  EXPECT_FLOAT_EQ(of.logprob, std::log(0.25f));
  ASSERT_EQ(of.top.size(), 3U) << "what cannot be drawn is not there";
  EXPECT_EQ(of.top[0].token, 5);
  EXPECT_EQ(of.top[1].token, 2) << "equals by rising id";
  EXPECT_EQ(of.top[2].token, 9);
  EXPECT_FLOAT_EQ(of.top[0].logprob, std::log(0.5f));
  EXPECT_EQ(logprobs(distribution, 5, 1).top.size(), 1U);
  EXPECT_TRUE(logprobs(distribution, 5, 0).top.empty());
}

}  // namespace
}  // namespace augur
