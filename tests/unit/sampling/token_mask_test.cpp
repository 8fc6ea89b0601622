#include "sampling/token_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sampling/sampler.h"

namespace augur {
namespace {

constexpr std::int64_t kVocab = 100;

std::vector<std::uint32_t> every_third() {
  std::vector<std::uint32_t> mask(mask_words(kVocab));
  for (std::size_t t = 0; t < kVocab; t += 3) mask[t / 32] |= 1u << (t % 32);
  return mask;
}

TEST(TokenMask, LeavesOutWhatMayNotFollow) {
  const std::vector<std::uint32_t> mask = every_third();
  std::vector<float> logits(kVocab, 1.0f);
  apply(mask, {}, logits);
  for (TokenId t = 0; t < kVocab; ++t) {
    EXPECT_EQ(std::isinf(logits[static_cast<std::size_t>(t)]), t % 3 != 0);
    EXPECT_EQ(allows(mask, t), t % 3 == 0);
    EXPECT_TRUE(allows({}, t));
  }
  const std::vector<TokenId> tokens = {99, 98, 0};
  std::vector<float> reduced(3, 1.0f);
  apply(mask, tokens, reduced);
  EXPECT_EQ(reduced, (std::vector<float>{1.0f, -std::numeric_limits<float>::infinity(), 1.0f}));
}

/// A mask is what a bias of -infinity on all other tokens is, whatever the parameters.
TEST(TokenMask, DrawsAsABiasWould) {
  const std::vector<std::uint32_t> mask = every_third();
  std::vector<float> logits(kVocab);
  for (std::size_t t = 0; t < kVocab; ++t) logits[t] = std::sin(static_cast<float>(t * t)) * 4.0f;
  const std::vector<TokenId> context = {3, 6, 9};
  for (SamplingOptions params :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.9f, .seed = 4},
        SamplingOptions{
            .temperature = 1.2f, .top_k = 40, .top_p = 0.9f, .min_p = 0.01f, .repetition_penalty = 1.3f}}) {
    Sampler masked(params, kVocab);
    for (TokenId t = 0; t < kVocab; ++t) {
      if (t % 3 != 0) params.logit_bias.emplace_back(t, -std::numeric_limits<float>::infinity());
    }
    Sampler biased(params, kVocab);
    SparseDistribution with_mask;
    SparseDistribution with_bias;
    masked.processed(logits, context, with_mask, mask);
    biased.processed(logits, context, with_bias);
    EXPECT_EQ(with_mask.tokens, with_bias.tokens);
    EXPECT_EQ(with_mask.probs, with_bias.probs);
    for (std::int64_t position = 0; position < 200; ++position) {
      ASSERT_EQ(masked.draw(logits, context, position, mask), biased.draw(logits, context, position));
    }
  }
}

}  // namespace
}  // namespace augur
