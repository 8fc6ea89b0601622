#include "engine/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/resolved_plan.h"
#include "sampling/position_noise.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The refusal of a plan; "no error" where it is allowed.
std::string refusal(const std::string& text, std::int32_t vocab, int hidden = 64, int sequences = 1) {
  const SpeculationPlan plan = resolve(SpeculationPlan::parse(text), {.head = "draft"});
  const auto policy = load_policy(plan);
  ModelConfig target;
  target.vocab = vocab;
  target.hidden = hidden;
  return testing_support::error_of([&] { check_memory(plan, *policy, target, sequences); });
}

constexpr std::int32_t kLarge = 262144;  // a row of floats is a MiB

TEST(MemoryCheck, LogitsOfTheLargestTree) {
  EXPECT_EQ(refusal("draft:size=2047", kLarge), "no error");
  EXPECT_THAT(refusal("draft:size=2048", kLarge),
              AllOf(StartsWith("size: 2048 nodes' logits over 262144 tokens"), HasSubstr("at most 2 GiB")));
  EXPECT_EQ(refusal("draft:size=4096", 32000), "no error");
  EXPECT_EQ(refusal("draft:n-max=1024", kLarge), "no error");
  EXPECT_THAT(refusal("draft,ngram:policy=chain,n-max=1024", kLarge), StartsWith("n-max: "))
      << "a tree of two chains";
  EXPECT_EQ(refusal("draft,ngram:size=1024", kLarge), "no error") << "they share its nodes";
}

TEST(MemoryCheck, DistributionsThatDraftsAreDrawnFrom) {
  // The root, then topk nodes of each further level.
  EXPECT_EQ(refusal("draft:topk=256,depth=8,verify=rejection", kLarge), "no error");
  EXPECT_THAT(refusal("draft:topk=256,depth=9,verify=rejection", kLarge),
              AllOf(StartsWith("topk and depth: 2049 nodes' distributions"), HasSubstr("at most 2 GiB")));
  EXPECT_EQ(refusal("draft:topk=256,depth=9", kLarge), "no error") << "the walk stores none";
  EXPECT_EQ(refusal("draft:n-max=16,verify=rejection", kLarge, 64, 128), "no error");
  EXPECT_THAT(refusal("draft:n-max=17,verify=rejection", kLarge, 64, 128),
              AllOf(StartsWith("n-max: 17 nodes' distributions"), HasSubstr("in 128 sequences")));
}

TEST(MemoryCheck, HiddenStatesOfABatch) {
  EXPECT_EQ(refusal("draft:size=127", 512, 4096, 1024), "no error");
  EXPECT_THAT(refusal("draft:size=128", 512, 4096, 1024),
              AllOf(StartsWith("size: 128 nodes' hidden states of 4096 in 1024 sequences"),
                    HasSubstr("at most 2 GiB")));
}

TEST(MemoryCheck, AutoFitsAnyModelInAnyBatch) {
  EXPECT_EQ(refusal("draft,ngram", kLarge, 8192, 4096), "no error");
}

TEST(MemoryCheck, NoiseOfABatch) {
  EXPECT_EQ(noise_rows(49152, 16), PositionNoise::kUsualPositions);
  EXPECT_EQ(noise_rows(kLarge, 1), PositionNoise::kUsualPositions);
  for (const int sequences : {128, 129, 500, 2048}) {
    const std::int64_t row = std::int64_t{kLarge} * 4 * sequences;
    const int rows = noise_rows(kLarge, sequences);
    EXPECT_LE(rows * row, kMostBytes) << sequences;
    EXPECT_TRUE(rows == PositionNoise::kUsualPositions || (rows + 1) * row > kMostBytes) << sequences;
  }
  EXPECT_EQ(noise_rows(kLarge, 4096), 1) << "a draw takes one";
}

}  // namespace
}  // namespace augur
