#include "lab/suite/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace augur {
namespace {

/// Prompts of one text each: how fast the first method is differs much, by how much the second is faster
/// little.
std::vector<PromptSample> hard_and_easy(int prompts) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<PromptSample> samples;
  for (int p = 0; p < prompts; ++p) {
    const double plain = 100 * std::exp(normal(random));
    samples.push_back({{.rates = {plain, plain * (1.5 + 0.1 * normal(random))},
                        .tokens = {100, 100},
                        .calls = {100, 50 + std::round(5 * normal(random))}}});
  }
  return samples;
}

std::vector<double> of(const std::vector<std::vector<double>>& figures, std::size_t method) {
  std::vector<double> out;
  for (const std::vector<double>& resample : figures) out.push_back(resample[method]);
  return out;
}

TEST(Bootstrap, IsPaired) {
  const Resamples r = resample(hard_and_easy(40), 2);
  ASSERT_EQ(r.speedups.size(), static_cast<std::size_t>(kResamples));
  const auto plain = interval_of(of(r.speedups, 0));
  EXPECT_EQ(plain->low, 1.0);
  EXPECT_EQ(plain->high, 1.0);
  // Speeds of the prompts spread by a factor of e; if the methods had draws of their own, so would speedups.
  const auto faster = interval_of(of(r.speedups, 1));
  EXPECT_LT(faster->low, 1.5);
  EXPECT_GT(faster->high, 1.5);
  EXPECT_LT(faster->high - faster->low, 0.25);
}

/// The mean of n values lies within 1.96 standard errors in 95 of 100 cases.
TEST(Bootstrap, IsAsWideAsTheSpreadOfPromptsSays) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  constexpr int kPrompts = 100;
  std::vector<PromptSample> samples;
  for (int p = 0; p < kPrompts; ++p) {
    samples.push_back({{.rates = {1, 2 + 0.5 * normal(random)}, .tokens = {1, 1}, .calls = {1, 1}}});
  }
  const auto found = interval_of(of(resample(samples, 2).speedups, 1));
  EXPECT_NEAR(found->high - found->low, 2 * 1.96 * 0.5 / std::sqrt(kPrompts), 0.04);
}

TEST(Bootstrap, TextsOfOnePromptAreNotTakenForPrompts) {
  // Texts of a prompt are alike: many of them tell little of other prompts.
  std::vector<PromptSample> prompts;
  for (const double speedup : {1.0, 2.0, 3.0}) {
    PromptSample& prompt = prompts.emplace_back();
    for (int seed = 0; seed < 50; ++seed) {
      prompt.push_back({.rates = {1, speedup}, .tokens = {1, 1}, .calls = {1, 1}});
    }
  }
  const auto found = interval_of(of(resample(prompts, 2).speedups, 1));
  EXPECT_NEAR(found->low, 1.0, 0.4);
  EXPECT_NEAR(found->high, 3.0, 0.4);
}

TEST(Bootstrap, OfOneTextSaysNothing) {
  EXPECT_TRUE(resample(hard_and_easy(1), 2).empty());
  EXPECT_FALSE(interval_of({}));
}

TEST(IntervalOf, LeavesOutAFortiethOnEitherSide) {
  std::vector<double> values;
  for (int i = 1000; i >= 0; --i) values.push_back(i);
  EXPECT_EQ(interval_of(values)->low, 25);
  EXPECT_EQ(interval_of(values)->high, 975);
}

}  // namespace
}  // namespace augur
