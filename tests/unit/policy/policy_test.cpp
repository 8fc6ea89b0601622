#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "policy/static_tree_policy.h"
#include "tree/tree_shapes.h"

namespace augur {
namespace {

using testing::ElementsAre;
using Path = std::vector<TokenId>;

/// Children of a path: (token, log-probability), best first.
using Expand = std::function<std::vector<std::pair<TokenId, float>>(const Path&)>;

Path path_of(const DraftTree& tree, std::int32_t node) {
  Path path;
  for (; node != DraftTree::kRoot; node = tree.parents()[static_cast<std::size_t>(node)]) {
    path.push_back(tree.tokens()[static_cast<std::size_t>(node)]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void draft(TreePolicy& policy, const RoundInfo& round, DraftTree& tree, const Expand& expand) {
  tree.reset(0, 0);
  policy.begin(round);
  std::vector<std::int32_t> frontier;
  for (policy.next_frontier(tree, frontier); !frontier.empty(); policy.next_frontier(tree, frontier)) {
    for (const std::int32_t node : frontier) {
      const auto children = expand(path_of(tree, node));
      for (std::size_t i = 0; i < std::min(children.size(), static_cast<std::size_t>(policy.width())); ++i) {
        tree.add(node, children[i].first, children[i].second, 1);
      }
    }
  }
  policy.prune(tree);
}

const RoundInfo kRoomy{.room = 10000, .max_depth = 10000};

// --- Chain ---------------------------------------------------------------------------------------------

Expand fixed_probability(float p) {
  return [p](const Path& path) {
    return std::vector<std::pair<TokenId, float>>{{static_cast<TokenId>(path.size()), std::log(p)}};
  };
}

TEST(ChainPolicy, DraftsUpToItsLengthRoomAndDepth) {
  DraftTree tree;
  ChainPolicy policy({.max = 5});
  draft(policy, kRoomy, tree, fixed_probability(0.9f));
  EXPECT_THAT(tree.parents(), ElementsAre(-1, 0, 1, 2, 3, 4));
  draft(policy, {.room = 3, .max_depth = 9}, tree, fixed_probability(0.9f));
  EXPECT_EQ(tree.size(), 4);
  draft(policy, {.room = 9, .max_depth = 2}, tree, fixed_probability(0.9f));
  EXPECT_EQ(tree.size(), 3);
  draft(policy, {.room = 0, .max_depth = 0}, tree, fixed_probability(0.9f));
  EXPECT_TRUE(tree.only_root());
}

TEST(ChainPolicy, EndsBeforeAnUnlikelyToken) {
  DraftTree tree;
  ChainPolicy policy({.max = 8, .p_min = 0.5});
  const Expand expand = [](const Path& path) {
    return std::vector<std::pair<TokenId, float>>{{1, std::log(path.size() < 3 ? 0.8f : 0.4f)}};
  };
  draft(policy, kRoomy, tree, expand);
  EXPECT_EQ(tree.size(), 4) << "three likely tokens, the fourth is dropped";
  ChainPolicy at_least({.max = 8, .min = 4, .p_min = 0.5});
  draft(at_least, kRoomy, tree, expand);
  EXPECT_TRUE(tree.only_root()) << "three tokens are too few";
}

TEST(ChainPolicy, NeverDropsADrawnToken) {
  DraftTree tree;
  tree.set_sampled(4);
  ChainPolicy policy({.max = 3, .min = 3, .p_min = 0.5});
  policy.begin(kRoomy);
  std::vector<std::int32_t> frontier;
  policy.next_frontier(tree, frontier);
  tree.add(0, 1, std::log(0.1f), 1);
  policy.next_frontier(tree, frontier);
  EXPECT_TRUE(frontier.empty());
  policy.prune(tree);
  EXPECT_EQ(tree.size(), 2);
}

TEST(ChainPolicy, CutsAOneShotBranch) {
  DraftTree tree;
  ChainPolicy policy({.max = 3});
  RoundInfo round = kRoomy;
  round.drafter.one_shot = true;
  policy.begin(round);
  std::vector<std::int32_t> frontier;
  policy.next_frontier(tree, frontier);
  EXPECT_THAT(frontier, ElementsAre(0));
  EXPECT_EQ(policy.width(), 3);
  for (int i = 0; i < 6; ++i) tree.add(i, i, 0, 1);
  policy.next_frontier(tree, frontier);
  EXPECT_TRUE(frontier.empty());
  policy.prune(tree);
  EXPECT_EQ(tree.size(), 4);
}

// --- EAGLE-2 -------------------------------------------------------------------------------------------

/// Few distinct log-probabilities, so that equal scores are common; sums of powers of two are exact.
Expand random_tree(unsigned seed, int children) {
  return [=](const Path& path) {
    unsigned hash = seed * 2654435761u + 12345u;
    for (const TokenId token : path) hash = (hash ^ static_cast<unsigned>(token + 1)) * 2246822519u + 1u;
    std::mt19937 random(hash);
    std::vector<std::pair<TokenId, float>> out;
    for (int i = 0; i < children; ++i) {
      out.emplace_back(static_cast<TokenId>(i * 7 + static_cast<int>(random() % 7)),
                       -0.25f * static_cast<float>(random() % 6));
    }
    std::stable_sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.second > b.second; });
    return out;
  };
}

struct Candidate {
  Path path;
  double score = 0;
};

/// EAGLE-2 written down from its description, with whole sorts and sets: candidates in flat order, the beams
/// of a level are the first top_k of the level before by (score, order), the result is the first size - 1.
std::set<Path> reference_eagle2(const Expand& expand, const Eagle2Policy::Options& o) {
  const auto ranked = [](std::vector<Candidate> list) {
    std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.score > b.score; });
    return list;
  };
  std::vector<Candidate> all;
  std::vector<Candidate> beams{{}};
  for (int level = 0; level < o.levels; ++level) {
    std::vector<Candidate> fresh;
    for (const Candidate& beam : beams) {
      const auto children = expand(beam.path);
      for (int i = 0; i < std::min<int>(o.top_k, static_cast<int>(children.size())); ++i) {
        Candidate c = beam;
        c.path.push_back(children[static_cast<std::size_t>(i)].first);
        c.score += static_cast<double>(children[static_cast<std::size_t>(i)].second);
        fresh.push_back(c);
      }
    }
    all.insert(all.end(), fresh.begin(), fresh.end());
    beams = ranked(fresh);
    if (beams.size() > static_cast<std::size_t>(o.top_k)) beams.resize(static_cast<std::size_t>(o.top_k));
  }
  all = ranked(all);
  std::set<Path> best;
  for (std::size_t i = 0; i < std::min(all.size(), static_cast<std::size_t>(o.size - 1)); ++i) {
    best.insert(all[i].path);
  }
  return best;
}

TEST(Eagle2Policy, EqualsTheReferenceOnRandomScoresWithTies) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 4000; ++round) {
    const Eagle2Policy::Options options{.top_k = 1 + static_cast<int>(random() % 5),
                                        .levels = 1 + static_cast<int>(random() % 5),
                                        .size = 2 + static_cast<int>(random() % 40)};
    const Expand expand = random_tree(round, 6);
    Eagle2Policy policy(options);
    DraftTree tree;
    draft(policy, kRoomy, tree, expand);
    std::set<Path> found;
    for (std::int32_t node = 1; node < tree.size(); ++node) found.insert(path_of(tree, node));
    ASSERT_EQ(found, reference_eagle2(expand, options)) << "round " << round;
  }
}

TEST(Eagle2Policy, KeepsTheCandidateCountOfThePaper) {
  int expansions = 0;
  Eagle2Policy policy({.top_k = 10, .levels = 6, .size = 60});
  DraftTree tree;
  draft(policy, kRoomy, tree, [&](const Path& path) {
    ++expansions;
    return random_tree(3, 10)(path);
  });
  EXPECT_EQ(expansions, 1 + 5 * 10) << "the root, then `depth` levels of top_k beams";
  EXPECT_EQ(tree.size(), 60);
}

TEST(Eagle2Policy, RespectsRoomAndDepth) {
  Eagle2Policy policy({.top_k = 4, .levels = 6, .size = 60});
  DraftTree tree;
  draft(policy, {.room = 7, .max_depth = 2}, tree, random_tree(5, 4));
  EXPECT_EQ(tree.size(), 8);
  EXPECT_LE(tree.max_depth(), 2);
  draft(policy, {.room = 7, .max_depth = 0}, tree, random_tree(5, 4));
  EXPECT_TRUE(tree.only_root());
}

TEST(Eagle2Policy, StaysClosedUnderParentsWhenAScorerRatesChildrenHigher) {
  Eagle2Policy policy({.top_k = 3, .levels = 3, .size = 6});
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    DraftTree tree;
    tree.reset(0, 0);
    policy.begin(kRoomy);
    for (int i = 0; i < 25; ++i) {
      tree.add(static_cast<std::int32_t>(random() % static_cast<unsigned>(tree.size())), i, -1, 1);
    }
    for (float& score : tree.mutable_scores()) score = static_cast<float>(random() % 5);
    policy.prune(tree);
    ASSERT_EQ(tree.size(), 6);
  }
}

// --- Static trees ----------------------------------------------------------------------------------------

TEST(StaticTreePolicy, GrowsExactlyItsShape) {
  StaticTreePolicy policy(load_tree_paths("eagle_mc_sim_7b_63"));
  EXPECT_EQ(policy.nodes(), 25);
  DraftTree tree;
  // Token = rank, so that a node's path names its place.
  draft(policy, kRoomy, tree, [](const Path&) {
    std::vector<std::pair<TokenId, float>> children;
    for (TokenId i = 0; i < 10; ++i) children.emplace_back(i, -1.0f);
    return children;
  });
  std::map<int, int> by_depth;
  std::set<Path> found;
  for (std::int32_t node = 1; node < tree.size(); ++node) {
    ++by_depth[tree.depths()[static_cast<std::size_t>(node)]];
    found.insert(path_of(tree, node));
  }
  EXPECT_EQ(by_depth, (std::map<int, int>{{1, 4}, {2, 8}, {3, 8}, {4, 3}, {5, 2}}));
  std::set<Path> shape;
  for (const auto& path : load_tree_paths("eagle_mc_sim_7b_63")) shape.emplace(path.begin(), path.end());
  EXPECT_EQ(found, shape);
}

TEST(StaticTreePolicy, AddsThePrefixesOfItsPathsAndCutsToRoom) {
  const std::vector<std::vector<int>> paths{{1, 2}};
  StaticTreePolicy policy(paths);
  EXPECT_EQ(policy.nodes(), 2);
  const Expand ranks = [](const Path&) {
    return std::vector<std::pair<TokenId, float>>{{10, 0.0f}, {11, 0.0f}, {12, 0.0f}};
  };
  DraftTree tree;
  draft(policy, kRoomy, tree, ranks);
  EXPECT_THAT(tree.tokens(), ElementsAre(0, 11, 12));
  draft(policy, {.room = 1, .max_depth = 9}, tree, ranks);
  EXPECT_THAT(tree.tokens(), ElementsAre(0, 11));
}

TEST(StaticTreePolicy, RefusesBadPaths) {
  EXPECT_THROW(StaticTreePolicy(std::vector<std::vector<int>>{{}}), Error);
  EXPECT_THROW(StaticTreePolicy(std::vector<std::vector<int>>{{0, -1}}), Error);
}

}  // namespace
}  // namespace augur
