#include "sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
#include "sampling/gumbel.h"
#include "support/probability_of.h"

namespace augur {
namespace {

using testing_support::probability_of;

using testing::HasSubstr;
constexpr float kInf = std::numeric_limits<float>::infinity();

/// The chain, written as slowly and plainly as possible: probabilities by token id, 0 for those filtered out.
std::vector<double> reference(const SamplingOptions& params, std::vector<float> logits,
                              std::vector<TokenId> context) {
  for (const auto& [token, bias] : params.logit_bias) logits[static_cast<std::size_t>(token)] += bias;
  if (params.penalty_window >= 0 && context.size() > static_cast<std::size_t>(params.penalty_window)) {
    context.erase(context.begin(), context.end() - params.penalty_window);
  }
  std::map<TokenId, int> counts;
  for (const TokenId token : context) ++counts[token];
  for (const auto& [token, count] : counts) {
    float& logit = logits[static_cast<std::size_t>(token)];
    logit = logit > 0.0f ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    logit -= params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
  }
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  std::vector<double> result(logits.size());
  if (params.temperature == 0.0f) {
    result[order[0]] = 1.0;
    return result;
  }
  const auto weight = [&](std::size_t token) {
    return std::exp((static_cast<double>(logits[token]) - logits[order[0]]) / params.temperature);
  };
  if (params.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(params.top_k)));
  double total = 0.0;
  for (const std::size_t token : order) total += weight(token);
  if (params.top_p < 1.0f) {
    double sum = 0.0;
    std::size_t kept = 0;
    while (kept < order.size() && sum < static_cast<double>(params.top_p) * total)
      sum += weight(order[kept++]);
    order.resize(kept);
  }
  std::erase_if(order, [&](std::size_t token) { return weight(token) < params.min_p; });
  total = 0.0;
  for (const std::size_t token : order) total += weight(token);
  for (const std::size_t token : order) result[token] = weight(token) / total;
  return result;
}

std::vector<float> random_logits(int n, std::uint32_t seed, float scale = 2.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}

std::vector<SamplingOptions> chains() {
  std::vector<SamplingOptions> result;
  const auto add = [&](auto set) {
    SamplingOptions params;
    params.temperature = 0.8f;
    params.seed = 17;
    set(params);
    result.push_back(params);
  };
  add([](SamplingOptions&) {});
  add([](SamplingOptions& p) { p.temperature = 0.0f; });
  add([](SamplingOptions& p) { p.top_k = 5; });
  add([](SamplingOptions& p) { p.top_k = 100000; });
  add([](SamplingOptions& p) { p.top_p = 0.9f; });
  add([](SamplingOptions& p) { p.top_p = 0.9f, p.temperature = 3.0f; });
  add([](SamplingOptions& p) { p.top_p = 0.01f; });
  add([](SamplingOptions& p) { p.min_p = 0.1f; });
  add([](SamplingOptions& p) { p.min_p = 1.0f; });
  add([](SamplingOptions& p) { p.top_k = 40, p.top_p = 0.8f, p.min_p = 0.05f, p.temperature = 1.5f; });
  add([](SamplingOptions& p) {
    p.repetition_penalty = 1.3f, p.presence_penalty = 0.5f, p.frequency_penalty = 0.25f;
    p.penalty_window = 5, p.top_p = 0.95f;
  });
  add([](SamplingOptions& p) { p.repetition_penalty = 0.7f, p.penalty_window = -1, p.temperature = 0.0f; });
  add([](SamplingOptions& p) { p.logit_bias = {{3, 4.0f}, {4, -kInf}, {3, -1.0f}}, p.top_k = 3; });
  return result;
}

TEST(Sampler, ChainAgreesWithTheSlowReference) {
  for (const int vocab : {7, 50, 3000}) {
    int index = 0;
    for (const SamplingOptions& params : chains()) {
      Sampler sampler(params, vocab);
      for (std::uint32_t seed = 0; seed < 5; ++seed) {
        const std::vector<float> logits = random_logits(vocab, seed);
        const std::vector<TokenId> context = {0, 1, 2, 1, 6, 5, 5, 5, 2};
        const std::vector<double> expected = reference(params, logits, context);
        SparseDistribution found;
        sampler.processed(logits, context, found);
        ASSERT_TRUE(std::is_sorted(found.tokens.begin(), found.tokens.end()));
        for (TokenId t = 0; t < vocab; ++t) {
          ASSERT_NEAR(probability_of(t, found), expected[static_cast<std::size_t>(t)], 1e-5)
              << "chain " << index << " vocab " << vocab << " token " << t;
        }
      }
      ++index;
    }
  }
}

TEST(Sampler, DraftLawsAreTheChainsWithoutPenalties) {
  constexpr int kVocab = 3000;
  const std::vector<float> logits = random_logits(kVocab, 3);
  SamplerScratch scratch;
  SparseDistribution found, expected;
  for (const SamplingOptions& params : chains()) {
    Sampler sampler(params, kVocab);
    sampler.processed(logits, {}, expected);
    ASSERT_TRUE(sampler.draft_law(logits, scratch, found));
    EXPECT_EQ(found.tokens, expected.tokens);
    EXPECT_EQ(found.probs, expected.probs);
    ASSERT_EQ(scratch.kept_logits.size(), found.tokens.size());
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInf}) {
      std::vector<float> broken = logits;
      broken[77] = bad;
      EXPECT_FALSE(sampler.draft_law(broken, scratch, found));
    }
    EXPECT_FALSE(sampler.draft_law(std::vector<float>(kVocab, -kInf), scratch, found));
  }
}

TEST(Sampler, DrawsTheArgmaxOfLogProbabilityPlusNoise) {
  for (const SamplingOptions& params : chains()) {
    constexpr int kVocab = 3000;
    Sampler sampler(params, kVocab);
    const std::vector<float> logits = random_logits(kVocab, 8);
    const std::vector<TokenId> context = {5, 9, 5};
    const std::vector<double> p = reference(params, logits, context);
    for (std::int64_t position = 0; position < 30; ++position) {
      TokenId expected = -1;
      double best = -std::numeric_limits<double>::infinity();
      for (TokenId t = 0; t < kVocab; ++t) {
        if (p[static_cast<std::size_t>(t)] == 0.0) continue;
        float noise;
        gumbel_at(params.seed, position, std::span(&t, 1), &noise);
        const double score = std::log(p[static_cast<std::size_t>(t)]) + noise;
        if (score > best) {
          best = score;
          expected = t;
        }
      }
      ASSERT_EQ(sampler.draw(logits, context, position), expected) << position;
      ASSERT_EQ(Sampler(params, kVocab).draw(logits, context, position), expected) << position;
    }
  }
}

/// Draws at many positions against the distribution, by chi-square (cells of at least 5 expected draws).
TEST(Sampler, DrawsFollowTheDistribution) {
  for (const SamplingOptions& params : chains()) {
    if (greedy(params)) continue;
    constexpr int kVocab = 50;
    constexpr int kDraws = 20000;
    Sampler sampler(params, kVocab);
    const std::vector<float> logits = random_logits(kVocab, 21, 1.5f);
    const std::vector<double> p = reference(params, logits, {});
    std::vector<int> counts(kVocab);
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(sampler.draw(logits, {}, i))];
    double chi_square = 0.0;
    int cells = 0;
    double rest_expected = 0.0;
    double rest_count = 0.0;
    for (std::size_t t = 0; t < p.size(); ++t) {
      const double expected = p[t] * kDraws;
      if (expected == 0.0) {
        ASSERT_EQ(counts[t], 0);
      } else if (expected < 5.0) {
        rest_expected += expected;
        rest_count += counts[t];
      } else {
        chi_square += (counts[t] - expected) * (counts[t] - expected) / expected;
        ++cells;
      }
    }
    if (rest_expected >= 5.0) {
      chi_square += (rest_count - rest_expected) * (rest_count - rest_expected) / rest_expected;
      ++cells;
    }
    // Mean + 4.5 standard deviations of the chi-square law. The seed is fixed: no flakiness.
    const double freedom = std::max(1, cells - 1);
    EXPECT_LT(chi_square, freedom + 4.5 * std::sqrt(2.0 * freedom)) << "cells " << cells;
  }
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  Sampler sampler({}, 40);
  std::vector<float> logits(40, -1.0f);
  logits[33] = logits[12] = 2.0f;
  EXPECT_EQ(sampler.draw(logits, {}, 0), 12);
  EXPECT_EQ(sampler.draw(logits, {}, 1), 12);
}

TEST(Sampler, TopKAndTopPBreakTiesByLowerId) {
  SamplingOptions params;
  params.temperature = 1.0f;
  params.top_k = 3;
  const std::vector<float> equal(20, 1.0f);
  SparseDistribution found;
  Sampler(params, 20).processed(equal, {}, found);
  EXPECT_EQ(found.tokens, (std::vector<TokenId>{0, 1, 2}));
  params.top_k = 0;
  params.top_p = 0.24f;
  Sampler(params, 20).processed(equal, {}, found);
  EXPECT_EQ(found.tokens, (std::vector<TokenId>{0, 1, 2, 3, 4}));
}

TEST(Sampler, PenaltiesByHand) {
  SamplingOptions params;
  params.temperature = 1.0f;
  params.repetition_penalty = 2.0f;
  params.presence_penalty = 0.5f;
  params.frequency_penalty = 0.25f;
  params.penalty_window = 3;
  Sampler sampler(params, 4);
  // The last three: token 1 twice, token 2 once. 4 / 2 - 0.5 - 2 * 0.25 = 1; -1 * 2 - 0.5 - 0.25 = -2.75.
  const std::vector<TokenId> context = {0, 0, 1, 2, 1};
  SparseDistribution found;
  sampler.processed(std::vector<float>{0.0f, 4.0f, -1.0f, 0.0f}, context, found);
  const double total = 1.0 + std::exp(1.0) + std::exp(-2.75) + 1.0;
  EXPECT_NEAR(probability_of(1, found), std::exp(1.0) / total, 1e-6);
  EXPECT_NEAR(probability_of(2, found), std::exp(-2.75) / total, 1e-6);
  // And nothing is left over for the next call.
  sampler.processed(std::vector<float>{0.0f, 4.0f, -1.0f, 0.0f}, {}, found);
  EXPECT_NEAR(probability_of(1, found), std::exp(4.0) / (2.0 + std::exp(4.0) + std::exp(-1.0)), 1e-6);
}

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Sampler, BadLogitsAreErrors) {
  SamplingOptions sampled;
  sampled.temperature = 1.0f;
  for (const SamplingOptions& params : {SamplingOptions{}, sampled}) {
    Sampler sampler(params, 30);
    std::vector<float> logits(30, 0.5f);
    logits[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(error_of([&] { sampler.draw(logits, {}, 0); }), HasSubstr("token 7 is nan"));
    logits[7] = kInf;
    EXPECT_THAT(error_of([&] { sampler.draw(logits, {}, 0); }), HasSubstr("token 7 is inf"));
    EXPECT_THAT(error_of([&] { sampler.draw(std::vector<float>(30, -kInf), {}, 0); }),
                HasSubstr("every token that may come next is forbidden"));
    EXPECT_THAT(error_of([&] { sampler.draw(std::vector<float>(29), {}, 0); }),
                HasSubstr("expected 30 logits"));
  }
}

TEST(SamplingOptions, ErrorsNameTheField) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto check = [](auto set, const char* field) {
    SamplingOptions params;
    set(params);
    EXPECT_THAT(error_of([&] { validate(params, 100); }), testing::StartsWith(field));
  };
  check([](SamplingOptions& p) { p.temperature = -1.0f; }, "temperature");
  check([&](SamplingOptions& p) { p.temperature = nan; }, "temperature");
  check([](SamplingOptions& p) { p.temperature = 1e-9f; }, "temperature");
  check([](SamplingOptions& p) { p.top_p = 0.0f; }, "top_p");
  check([](SamplingOptions& p) { p.top_p = 1.5f; }, "top_p");
  check([&](SamplingOptions& p) { p.min_p = nan; }, "min_p");
  check([](SamplingOptions& p) { p.min_p = -0.1f; }, "min_p");
  check([](SamplingOptions& p) { p.repetition_penalty = 0.0f; }, "repetition_penalty");
  check([](SamplingOptions& p) { p.presence_penalty = kInf; }, "presence_penalty");
  check([&](SamplingOptions& p) { p.frequency_penalty = nan; }, "frequency_penalty");
  check([](SamplingOptions& p) { p.penalty_window = -2; }, "repeat_last_n");
  check([](SamplingOptions& p) { p.logit_bias = {{100, 1.0f}}; }, "logit_bias: token 100");
  check([](SamplingOptions& p) { p.logit_bias = {{-1, 1.0f}}; }, "logit_bias: token -1");
  check([](SamplingOptions& p) { p.logit_bias = {{5, kInf}}; }, "logit_bias: token 5");
  EXPECT_EQ(error_of([] { validate(SamplingOptions(), 100); }), "no error");
  EXPECT_NE(error_of([] { Sampler({}, 0); }), "no error");
}

}  // namespace
}  // namespace augur
