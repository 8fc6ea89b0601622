#include "sampling/coupled_ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "sampling/gumbel.h"
#include "sampling/sampler.h"

namespace augur {
namespace {

std::vector<float> random_logits(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> out(n);
  for (float& v : out) v = normal(random);
  return out;
}

/// Of a drafter that is as sharp as the target.
constexpr DraftCalibration kExact{.sharpness = 1.0f, .error = 1.0f};

struct Ranked {
  std::vector<std::int32_t> entries;
  std::vector<float> log_probs;
};

Ranked rank(const SamplingOptions& params, const CoupledRow& row, int k) {
  Ranked out{std::vector<std::int32_t>(static_cast<std::size_t>(k)),
             std::vector<float>(static_cast<std::size_t>(k))};
  CoupledScratch scratch;
  const int found = rank_coupled(params, row, k, scratch, out.entries.data(), out.log_probs.data());
  out.entries.resize(static_cast<std::size_t>(found));
  out.log_probs.resize(static_cast<std::size_t>(found));
  return out;
}

std::vector<SamplingOptions> samplings() {
  return {{},
          {.temperature = 1.0f, .seed = 4},
          {.temperature = 0.3f, .seed = 5},
          {.temperature = 1.5f, .top_k = 20, .seed = 6},
          {.temperature = 1.0f, .top_k = 50, .top_p = 0.8f, .min_p = 0.01f, .seed = 7},
          {.temperature = 2.0f, .min_p = 0.05f, .seed = 8},
          {.temperature = 0.9f,
           .repetition_penalty = 1.3f,
           .presence_penalty = 0.5f,
           .frequency_penalty = 0.25f,
           .logit_bias = {{3, 2.5f}, {1999, 1.0f}, {7, -INFINITY}},
           .seed = 9},
          {.repetition_penalty = 1.3f, .presence_penalty = 0.5f, .logit_bias = {{5, 6.0f}}}};
}

/// A drafter that is the target itself knows the draw: its first candidate is it, whatever the parameters.
TEST(CoupledRanking, AnExactDrafterKnowsTheDraw) {
  constexpr int kVocab = 2000;
  for (const SamplingOptions& params : samplings()) {
    Sampler sampler(params, kVocab);
    for (unsigned i = 0; i < 40; ++i) {
      const std::vector<float> logits = random_logits(kVocab, i);
      const std::vector<TokenId> context = {3, 500, 3, static_cast<TokenId>(i), 1999, 500};
      std::vector<TokenId> recent = context;
      const Ranked ranked = rank(params,
                                 {.logits = logits,
                                  .noise = sampler.noise().row(i),
                                  .recent = recent,
                                  .entry_of_token = {},
                                  .calibration = kExact},
                                 5);
      ASSERT_FALSE(ranked.entries.empty());
      EXPECT_EQ(ranked.entries[0], sampler.draw(logits, context, i));
      EXPECT_TRUE(std::is_sorted(ranked.log_probs.begin(), ranked.log_probs.end(), std::greater<>()));
      double mass = 0.0;
      for (const float l : ranked.log_probs) mass += std::exp(static_cast<double>(l));
      EXPECT_LE(mass, 1.0 + 1e-5);
    }
  }
}

/// Over a reduced vocabulary in an order of its own, the noise and the penalties are those of target tokens.
TEST(CoupledRanking, WorksInTheDraftersOwnVocabulary) {
  constexpr int kVocab = 600;
  constexpr std::size_t kEntries = 150;
  std::vector<TokenId> target_ids(kVocab);
  std::iota(target_ids.begin(), target_ids.end(), 0);
  std::shuffle(target_ids.begin(), target_ids.end(), std::mt19937(1));
  target_ids.resize(kEntries);
  std::vector<std::int32_t> entry_of_token(kVocab, -1);
  for (std::size_t i = 0; i < kEntries; ++i) {
    entry_of_token[static_cast<std::size_t>(target_ids[i])] = static_cast<std::int32_t>(i);
  }
  for (SamplingOptions params : samplings()) {
    params.logit_bias.clear();
    params.logit_bias.emplace_back(target_ids[3], 1.5f);
    params.logit_bias.emplace_back(599, 1.0f);
    Sampler sampler(params, kVocab);
    for (unsigned i = 0; i < 40; ++i) {
      const std::vector<float> logits = random_logits(kEntries, i);
      std::vector<float> full(kVocab, -INFINITY);
      std::vector<float> noise(kEntries);
      for (std::size_t e = 0; e < kEntries; ++e) {
        full[static_cast<std::size_t>(target_ids[e])] = logits[e];
        noise[e] = sampler.noise().row(i)[static_cast<std::size_t>(target_ids[e])];
      }
      const std::vector<TokenId> context = {target_ids[0], 17, target_ids[9], target_ids[0]};
      std::vector<TokenId> recent = context;
      const Ranked ranked = rank(params,
                                 {.logits = logits,
                                  .noise = noise,
                                  .recent = recent,
                                  .entry_of_token = entry_of_token,
                                  .calibration = kExact},
                                 3);
      ASSERT_FALSE(ranked.entries.empty());
      EXPECT_EQ(target_ids[static_cast<std::size_t>(ranked.entries[0])], sampler.draw(full, context, i));
    }
  }
}

TEST(CoupledRanking, FiltersLeaveFewer) {
  const std::vector<float> logits = {0.0f, 5.0f, -1.0f, 4.0f, 1.0f};
  const std::vector<float> noise = {3.0f, 0.0f, 9.0f, 0.5f, 2.0f};
  const CoupledRow row{
      .logits = logits, .noise = noise, .recent = {}, .entry_of_token = {}, .calibration = kExact};
  EXPECT_EQ(rank({.temperature = 1.0f}, row, 9).entries, (std::vector<std::int32_t>{2, 1, 3, 0, 4}));
  EXPECT_EQ(rank({.temperature = 1.0f, .top_k = 2}, row, 9).entries, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(rank({.temperature = 1.0f, .min_p = 0.01f}, row, 9).entries,
            (std::vector<std::int32_t>{1, 3, 4}));
  EXPECT_EQ(rank({.temperature = 1.0f, .top_k = 4, .top_p = 0.7f}, row, 9).entries,
            (std::vector<std::int32_t>{1}));
  // All forbidden: nothing to propose.
  const std::vector<float> none(5, -INFINITY);
  EXPECT_TRUE(rank({.temperature = 1.0f}, {.logits = none, .noise = noise}, 3).entries.empty());
  EXPECT_TRUE(rank({}, {.logits = none}, 3).entries.empty());
}

/// Greedy, the probability is the drafter's own: EAGLE-2's trees.
TEST(CoupledRanking, GreedyKeepsTheLawOfTheDrafter) {
  const std::vector<float> logits = random_logits(300, 3);
  const Ranked ranked = rank({}, {.logits = logits, .noise = {}, .recent = {}, .entry_of_token = {}}, 300);
  const float total = log_sum_exp(logits.data(), 300);
  ASSERT_EQ(ranked.entries.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(ranked.log_probs[i], logits[static_cast<std::size_t>(ranked.entries[i])] - total);
  }
}

}  // namespace
}  // namespace augur
