// The policies that end a draft at a threshold, against their formulas computed along the whole chain.
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "policy_fixture.h"

namespace augur {
namespace {

using testing_support::draft;
using testing_support::kRoomy;
using testing_support::make_policy;
using testing_support::Path;
using testing_support::RandomLaw;

struct Rule {
  const char* policy;
  /// Whether a token is worth drafting: entropy before it, its probability, its path's probability.
  std::function<bool(double, double, double)> passes;
  bool keeps_last = false;  ///< the first that is not is drafted, too
};

const Rule kRules[] = {
    {"adaedl:n-max=6,gamma=0.3,threshold=0.45",
     [](double h, double, double) { return 1 - std::sqrt(0.3 * h) >= 0.45; }},
    {"svip:n-max=6,gamma=0.5,threshold=0.8",
     [](double h, double, double) { return std::sqrt(0.5 * h) <= 0.8; }, true},
    {"dymax:n-max=6,threshold=0.8", [](double, double p, double) { return p >= 0.8; }},
    {"djoint:n-max=6,threshold=0.6", [](double, double, double joint) { return joint >= 0.6; }},
};

TEST(EarlyStop, ChainsEndBeforeTheFirstTokenThatFails) {
  for (const Rule& rule : kRules) {
    std::vector<int> lengths(7, 0);
    for (unsigned seed = 0; seed < 500; ++seed) {
      const RandomLaw law{seed};
      Path expected;
      double joint = 1;
      while (expected.size() < 6) {
        const auto after = law.after(expected);
        const double p = std::exp(static_cast<double>(after.children.front().second));
        joint *= p;
        const bool passes = rule.passes(static_cast<double>(after.entropy), p, joint);
        if (passes || rule.keeps_last) expected.push_back(after.children.front().first);
        if (!passes) break;
      }
      DraftTree tree;
      tree.reset(0, 0);
      const auto policy = make_policy(rule.policy);
      draft(*policy, kRoomy, tree, law);
      ASSERT_EQ(tree.size(), static_cast<std::int32_t>(expected.size()) + 1) << rule.policy << ' ' << seed;
      ASSERT_EQ(testing_support::path_of(tree, tree.size() - 1), expected);
      ++lengths[expected.size()];
    }
    EXPECT_EQ(lengths[0] > 0, !rule.keeps_last) << rule.policy;
    EXPECT_GT(lengths[1], 0) << rule.policy;
    EXPECT_GT(lengths[3], 0) << rule.policy;
  }
}

TEST(EarlyStop, DrawnTokensAreDroppedByTheirParentsEntropyAlone) {
  for (const Rule& rule : kRules) {
    const auto policy = make_policy(rule.policy);
    for (unsigned seed = 0; seed < 100; ++seed) {
      const RandomLaw law{seed};
      DraftTree tree;
      tree.reset(0, 0);
      tree.set_sampled(8);
      draft(*policy, kRoomy, tree, law, false);
      const std::int32_t drafted = tree.size();
      const auto first = law.after({});
      policy->prune(tree);
      if (policy->wants().entropy) {
        // The root's children stay or go by what was known before any of them was drawn.
        const bool stays = rule.keeps_last || rule.passes(static_cast<double>(first.entropy), 0, 0);
        EXPECT_EQ(tree.only_root(), !stays) << rule.policy;
      } else {
        EXPECT_EQ(tree.size(), drafted) << rule.policy;
      }
    }
  }
}

TEST(EarlyStop, TreesGrowNoDeeperThanTheirBestNodeAllows) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomLaw law{seed};
    const auto eagle2 = make_policy("eagle2:topk=3,depth=5,size=40");
    const auto open = make_policy("dymax:tree=1,topk=3,depth=5,size=40,threshold=0");
    const auto strict = make_policy("dymax:tree=1,topk=3,depth=5,size=40,threshold=0.9");
    DraftTree whole, same, cut;
    for (DraftTree* tree : {&whole, &same, &cut}) tree->reset(0, 0);
    draft(*eagle2, kRoomy, whole, law, false);
    draft(*open, kRoomy, same, law, false);
    draft(*strict, kRoomy, cut, law, false);
    ASSERT_TRUE(std::ranges::equal(whole.parents(), same.parents()));
    ASSERT_TRUE(
        std::ranges::equal(whole.parents().first(static_cast<std::size_t>(cut.size())), cut.parents()));
    // The level whose best node fails is the last one.
    float best = -100;
    for (std::int32_t node = 1; node < cut.size(); ++node) {
      const auto n = static_cast<std::size_t>(node);
      if (cut.depths()[n] == 1) best = std::max(best, cut.log_probs()[n]);
    }
    ASSERT_EQ(cut.max_depth() == 1, std::exp(best) < 0.9f);
  }
}

TEST(EarlyStop, RoomDepthAndGuessedProbabilities) {
  const auto policy = make_policy("dymax:n-max=8,threshold=1");
  const RandomLaw law{5};
  DraftTree tree;
  tree.reset(0, 0);
  draft(*policy, kRoomy, tree, law);
  EXPECT_TRUE(tree.only_root()) << "nothing is certain";
  RoundInfo round = kRoomy;
  round.drafter.has_probabilities = false;
  round.room = 5;
  tree.reset(0, 0);
  draft(*policy, round, tree, law);
  EXPECT_EQ(tree.size(), 6) << "guesses are not measured";
  round.max_depth = 2;
  tree.reset(0, 0);
  draft(*policy, round, tree, law);
  EXPECT_EQ(tree.size(), 3);
}

TEST(EarlyStop, AdaEdlFollowsTheAcceptance) {
  // An entropy in between: drafted at a low threshold, not at a high one.
  const auto policy = make_policy("adaedl:n-max=1,gamma=1,threshold=0.5,step=0.5");
  const auto drafts = [&](float entropy) {
    DraftTree tree;
    tree.reset(0, 0);
    policy->begin(kRoomy);
    std::vector<std::int32_t> frontier;
    policy->next_frontier(tree, frontier);
    tree.set_entropy(0, entropy);
    tree.add(0, 1, -1.0f, 1);
    policy->prune(tree);
    return !tree.only_root();
  };
  DraftTree verified;
  verified.reset(0, 0);
  verified.add(0, 1, -1.0f, 1);
  const std::int32_t rejected[] = {0};
  const std::int32_t accepted[] = {0, 1};
  const float entropy = 0.2f;  // 1 - sqrt(0.2) = 0.55
  EXPECT_TRUE(drafts(entropy));
  for (int i = 0; i < 5; ++i) policy->observe({.tree = &verified, .path = rejected});
  EXPECT_FALSE(drafts(entropy)) << "after rejections the threshold is higher";
  for (int i = 0; i < 15; ++i) policy->observe({.tree = &verified, .path = accepted});
  EXPECT_TRUE(drafts(entropy)) << "after acceptances it is lower";
}

TEST(EarlyStop, RefusesBadSettings) {
  EXPECT_THROW(make_policy("svip:threshold=-1"), Error);
  EXPECT_THROW(make_policy("dymax:threshold=1.5"), Error);
  EXPECT_THROW(make_policy("adaedl:beta=1"), Error);
  EXPECT_THROW(make_policy("djoint:n-max=0"), Error);
}

}  // namespace
}  // namespace augur
