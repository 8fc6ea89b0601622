#include "tree/draft_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace augur {
namespace {

using testing::ElementsAre;

TEST(DraftTree, KeepsNodesInFlatArrays) {
  DraftTree tree;
  tree.reset(7, 100);
  const auto a = tree.add(0, 1, -0.5f, 1);
  const auto b = tree.add(0, 2, -1.0f, 1);
  const auto c = tree.add(a, 3, -0.25f, 2);
  EXPECT_THAT(tree.tokens(), ElementsAre(7, 1, 2, 3));
  EXPECT_THAT(tree.parents(), ElementsAre(-1, 0, 0, a));
  EXPECT_THAT(tree.depths(), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(tree.scores(), ElementsAre(0.0f, -0.5f, -1.0f, -0.75f));
  EXPECT_THAT(tree.proposers(), ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(tree.find_child(0, 2), b);
  EXPECT_EQ(tree.find_child(0, 3), -1);
  EXPECT_EQ(tree.find_child(a, 3), c);
  EXPECT_EQ(tree.first_child(0), a);
  EXPECT_EQ(tree.next_sibling(a), b);
  EXPECT_EQ(tree.next_sibling(b), -1);
  EXPECT_EQ(tree.max_depth(), 2);
}

TEST(DraftTree, AddsATokenOncePerParent) {
  DraftTree tree;
  const auto a = tree.add(0, 1, -0.5f, 1);
  EXPECT_EQ(tree.add(0, 1, -0.1f, 2), a);
  EXPECT_EQ(tree.size(), 2);
  EXPECT_EQ(tree.log_probs()[1], -0.5f) << "the first proposal stands";
  EXPECT_NE(tree.add(a, 1, -0.5f, 1), a) << "another parent is another node";
}

TEST(DraftTree, SelectRenumbersAndKeepsChildrenOrder) {
  DraftTree tree;
  const auto a = tree.add(0, 1, -1, 1);
  tree.add(0, 2, -2, 1);
  const auto c = tree.add(0, 3, -3, 1);
  tree.add(a, 4, -1, 1);
  const auto e = tree.add(c, 5, -1, 1);
  const std::vector<std::int32_t> keep{0, a, c, e};
  tree.select(keep);
  EXPECT_THAT(tree.tokens(), ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(tree.parents(), ElementsAre(-1, 0, 0, 2));
  EXPECT_EQ(tree.first_child(0), 1);
  EXPECT_EQ(tree.next_sibling(1), 2);
  EXPECT_EQ(tree.first_child(1), -1);
  EXPECT_EQ(tree.find_child(2, 5), 3);
  tree.limit_depth(1);
  EXPECT_THAT(tree.tokens(), ElementsAre(0, 1, 3));
  tree.truncate(1);
  EXPECT_TRUE(tree.only_root());
  EXPECT_EQ(tree.max_depth(), 0);
  EXPECT_EQ(tree.add(0, 9, 0, 1), 1) << "a pruned tree grows on";
}

TEST(DraftTree, RefusesWhatWouldNotBeATree) {
  DraftTree tree;
  tree.reset(0, 0);
  tree.add(tree.add(0, 1, 0, 1), 2, 0, 1);
  tree.add(0, 3, 0, 1);
  const std::vector<std::vector<std::int32_t>> refused = {{},        {1},    {0, 2}, {0, 1, 1},
                                                          {0, 3, 1}, {0, 4}, {0, -1}};
  for (const std::vector<std::int32_t>& keep : refused) {
    EXPECT_THROW(tree.select(keep), std::logic_error) << testing::PrintToString(keep);
    EXPECT_THAT(tree.tokens(), ElementsAre(0, 1, 2, 3));
  }
  tree.select(std::vector<std::int32_t>{0, 1, 2});
  EXPECT_THAT(tree.tokens(), ElementsAre(0, 1, 2));
}

TEST(DraftTree, StoredLawsFollowTheirNodes) {
  DraftTree tree;
  tree.reset(0, 0);
  tree.set_sampled(3);
  std::ranges::fill(tree.make_q(0), 0.25f);
  tree.add(0, 0, 0, 1);
  const auto b = tree.add(0, 1, 0, 1);
  std::ranges::fill(tree.make_q(b), 0.5f);
  tree.add(b, 2, 0, 1);
  tree.select(std::vector<std::int32_t>{0, b, 3});
  EXPECT_THAT(tree.q(0), ElementsAre(0.25f, 0.25f, 0.25f));
  EXPECT_THAT(tree.q(1), ElementsAre(0.5f, 0.5f, 0.5f));
  EXPECT_TRUE(tree.q(2).empty());
  tree.reset(0, 0);
  EXPECT_EQ(tree.law(), ProposalLaw::Deterministic);
  EXPECT_TRUE(tree.q(0).empty());
}

TEST(DraftTree, RowsOfAForwardPass) {
  DraftTree tree;
  tree.reset(5, 40);
  const auto a = tree.add(0, 6, 0, 1);
  tree.add(a, 7, 0, 1);
  tree.add(0, 8, 0, 1);
  std::vector<TokenId> tokens{1, 2};
  std::vector<std::int32_t> positions{0, 1};
  std::vector<std::int32_t> parents{-1, 0};
  tree.append_rows(tokens, positions, parents);
  EXPECT_THAT(tokens, ElementsAre(1, 2, 5, 6, 7, 8));
  EXPECT_THAT(positions, ElementsAre(0, 1, 40, 41, 42, 41));
  EXPECT_THAT(parents, ElementsAre(-1, 0, -1, 2, 3, 2));
}

TEST(DraftTree, AnySizeAndShapeKeepsItsInvariants) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    DraftTree tree;
    tree.reset(0, 0);
    const int nodes = static_cast<int>(random() % 700);
    for (int i = 0; i < nodes; ++i) {
      tree.add(static_cast<std::int32_t>(random() % static_cast<unsigned>(tree.size())),
               static_cast<TokenId>(random() % 50), -1.0f, 1);
    }
    std::vector<std::int32_t> keep{0};
    std::vector<bool> kept(static_cast<std::size_t>(tree.size()), false);
    kept[0] = true;
    for (std::int32_t n = 1; n < tree.size(); ++n) {
      if (kept[static_cast<std::size_t>(tree.parents()[static_cast<std::size_t>(n)])] && random() % 3 != 0) {
        kept[static_cast<std::size_t>(n)] = true;
        keep.push_back(n);
      }
    }
    tree.select(keep);
    ASSERT_EQ(tree.size(), static_cast<std::int32_t>(keep.size()));
    for (std::int32_t n = 1; n < tree.size(); ++n) {
      const auto i = static_cast<std::size_t>(n);
      const auto p = static_cast<std::size_t>(tree.parents()[i]);
      ASSERT_LT(tree.parents()[i], n);
      ASSERT_EQ(tree.depths()[i], tree.depths()[p] + 1);
      ASSERT_EQ(tree.find_child(tree.parents()[i], tree.tokens()[i]), n);
    }
  }
}

TEST(DraftTree, GraftMergesByPathAndKeepsTheSurerStep) {
  DraftTree a;
  a.reset(5, 10);
  const auto x = a.add(0, 1, -1.0f, 1);
  a.add(x, 2, -0.5f, 1);
  a.add(0, 3, -2.0f, 1);
  DraftTree b;
  b.reset(5, 10);
  const auto y = b.add(0, 1, -0.25f, 2);
  b.add(y, 4, -1.0f, 2);
  b.add(y, 2, -3.0f, 2);
  a.graft(b);
  EXPECT_THAT(std::vector<TokenId>(a.tokens().begin(), a.tokens().end()),
              testing::ElementsAre(5, 1, 2, 3, 4));
  EXPECT_THAT(std::vector<int>(a.parents().begin(), a.parents().end()), testing::ElementsAre(-1, 0, 1, 0, 1));
  // The step to 1 is now -0.25, and what hangs below moves with it.
  EXPECT_THAT(std::vector<float>(a.scores().begin(), a.scores().end()),
              testing::ElementsAre(0.0f, -0.25f, -0.75f, -2.0f, -1.25f));
  EXPECT_THAT(std::vector<int>(a.proposers().begin(), a.proposers().end()),
              testing::ElementsAre(0, 1, 1, 1, 2));
  EXPECT_EQ(a.max_depth(), 2);
}

}  // namespace
}  // namespace augur
