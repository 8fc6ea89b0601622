// DFlash and DSpark heads against an independent implementation of the papers.
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "support/golden_head.h"

namespace augur {
namespace {

using testing_support::GoldenHead;
using testing_support::GoldenRun;
using testing_support::GoldenTarget;

struct Head {
  const char* folder;
  const char* type;
  int depths;               ///< levels that a block predicts
  bool confidence = false;  ///< it predicts the chance of its own tokens
};

class DflashGolden : public testing::TestWithParam<Head> {
 protected:
  /// A drafter that knows the prompt, and the tree's root.
  struct Round {
    Round(const GoldenHead& head, const DrafterModel& model, std::int64_t context)
        : text(head.expected["text"].get<std::vector<TokenId>>()),
          features(head.values("features")),
          drafter(model.make({.context = context})) {
      drafter->sync({.tokens = std::span(text).first(7), .features = features.data(), .next = text[7]});
      tree.reset(text[7], 7);
    }
    std::vector<TokenId> text;
    std::vector<float> features;
    std::unique_ptr<Drafter> drafter;
    DraftTree tree;
  };

  static void grow(Drafter& drafter, DraftTree& tree, TreePolicy& policy) {
    policy.begin({.room = 1000, .max_depth = 100, .drafter = drafter.traits()});
    std::vector<std::int32_t> frontier;
    for (policy.next_frontier(tree, frontier); !frontier.empty(); policy.next_frontier(tree, frontier)) {
      const std::int32_t before = tree.size();
      drafter.expand(
          tree, frontier,
          {.top_k = policy.width(), .max_nodes = 1000, .least_confidence = policy.least_confidence()});
      if (tree.size() == before) return;
    }
  }
};

TEST_P(DflashGolden, LogitsStatesAndConfidencesOfAllRounds) {
  GoldenTarget target(WeightFormat::F32);
  const GoldenHead head(GetParam().folder);
  const auto model = target.load(GetParam().type, head.checkpoint);
  GoldenRun run(head, *model, 1e-4f, true);
  run.run();
  RecordProperty("worst", std::to_string(run.worst()));
  EXPECT_GT(run.worst(), 0.0f);
  EXPECT_EQ(head.has("round0.confidence"), GetParam().confidence);
}

TEST_P(DflashGolden, EveryDepthIsDraftedAndNoMore) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head(GetParam().folder);
  const auto model = target.load(GetParam().type, head.checkpoint);
  Round round(head, *model, 256);
  Eagle2Policy policy({.top_k = 3, .levels = 10, .size = 100});
  grow(*round.drafter, round.tree, policy);
  EXPECT_EQ(round.tree.max_depth(), GetParam().depths);
  EXPECT_EQ(round.tree.size(), 1 + 3 + 9 * (GetParam().depths - 1));
}

TEST_P(DflashGolden, DraftingAnewFromOneRootGivesTheSame) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head(GetParam().folder);
  const auto model = target.load(GetParam().type, head.checkpoint);
  Round round(head, *model, 256);
  Eagle2Policy policy({.top_k = 3, .levels = 10, .size = 100});
  grow(*round.drafter, round.tree, policy);
  const std::vector<float> scores(round.tree.scores().begin(), round.tree.scores().end());
  round.tree.reset(round.text[7], 7);
  grow(*round.drafter, round.tree, policy);
  EXPECT_EQ(scores, std::vector<float>(round.tree.scores().begin(), round.tree.scores().end()));
  // A new sequence in the drafter's place.
  round.drafter->reset();
  round.drafter->sync(
      {.tokens = std::span(round.text).first(7), .features = round.features.data(), .next = round.text[7]});
  round.tree.reset(round.text[7], 7);
  grow(*round.drafter, round.tree, policy);
  EXPECT_EQ(scores, std::vector<float>(round.tree.scores().begin(), round.tree.scores().end()));
}

TEST_P(DflashGolden, AChainEndsWhereTheConfidenceIsBelowItsLeastProbability) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head(GetParam().folder);
  const auto model = target.load(GetParam().type, head.checkpoint);
  Round whole(head, *model, 256);
  ChainPolicy all({.max = 8});
  grow(*whole.drafter, whole.tree, all);
  ASSERT_EQ(whole.drafter->traits().has_confidence, GetParam().confidence);
  if (!GetParam().confidence) return;
  const std::int32_t longest = whole.tree.size();
  std::int32_t before = longest;
  for (int step = 0; step <= 256; ++step) {
    Round round(head, *model, 256);
    ChainPolicy policy({.max = 8, .p_min = step / 256.0});
    grow(*round.drafter, round.tree, policy);
    const std::int32_t drafted = round.tree.size();
    EXPECT_LE(drafted, before) << step;
    EXPECT_TRUE(std::ranges::equal(round.tree.tokens(),
                                   whole.tree.tokens().first(static_cast<std::size_t>(drafted))));
    policy.prune(round.tree);
    EXPECT_EQ(round.tree.size(), drafted) << "probabilities are not what counts";
    if (step == 0) {
      EXPECT_EQ(drafted, longest);
    }
    before = drafted;
  }
  EXPECT_EQ(before, 1) << "nothing is certain";
}

TEST_P(DflashGolden, TheBlockIsCutWhereTheContextEnds) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head(GetParam().folder);
  const auto model = target.load(GetParam().type, head.checkpoint);
  const int first_slot = 6 - GetParam().depths;
  for (int room = 0; room < 6; ++room) {
    Round round(head, *model, 7 + room);
    ChainPolicy policy({.max = 8});
    grow(*round.drafter, round.tree, policy);
    EXPECT_EQ(round.tree.max_depth(), std::max(0, room - first_slot)) << room;
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, DflashGolden,
                         testing::Values(Head{"dflash", "dflash", 5}, Head{"dflash_sliding", "dflash", 5},
                                         Head{"dflash_sliding_bidirectional", "dflash", 5},
                                         Head{"dspark", "dspark", 6, true},
                                         Head{"dspark_gated", "dspark", 5, true},
                                         Head{"dspark_rnn", "dspark", 6}),
                         [](const auto& test) { return std::string(test.param.folder); });

}  // namespace
}  // namespace augur
