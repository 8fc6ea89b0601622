#include "draft/common/mask_tree.h"

#include <gtest/gtest.h>

#include "support/parity_constraint.h"

namespace augur {
namespace {

using testing_support::ParityConstraint;

constexpr std::int64_t kTokens = 70;

/// Counts what is asked of a constraint.
class CountingConstraint final : public TokenConstraint {
 public:
  explicit CountingConstraint(int& fills) : fills_(fills), inner_(kTokens) {}
  bool accept(TokenId token) override { return inner_.accept(token); }
  void roll_back(int tokens) override { inner_.roll_back(tokens); }
  bool ended() const override { return false; }
  void fill(std::span<std::uint32_t> mask) override {
    ++fills_;
    inner_.fill(mask);
  }

 private:
  int& fills_;
  ParityConstraint inner_;
};

TEST(MaskTree, KnowsWhatMayFollowEveryPath) {
  MaskTree masks(std::make_unique<ParityConstraint>(kTokens), kTokens);
  for (TokenId a = 0; a < kTokens; ++a) {
    const std::int32_t first = masks.after(MaskTree::kRoot, a);
    ASSERT_EQ(first != MaskTree::kIllegal, ParityConstraint::allows({a}));
    ASSERT_EQ(allows(masks.allowed(MaskTree::kRoot), a), ParityConstraint::allows({a}));
    for (TokenId b = 0; b < kTokens; b += 7) {
      ASSERT_EQ(masks.after(first, b) != MaskTree::kIllegal, ParityConstraint::allows({a, b}));
      if (first != MaskTree::kIllegal) {
        ASSERT_EQ(allows(masks.allowed(first), b), ParityConstraint::allows({a, b}));
      }
    }
  }
}

TEST(MaskTree, ComputesAMaskOnce) {
  int fills = 0;
  MaskTree masks(std::make_unique<CountingConstraint>(fills), kTokens);
  const std::int32_t first = masks.after(MaskTree::kRoot, 1);
  const std::int32_t second = masks.after(first, 3);
  ASSERT_NE(second, MaskTree::kIllegal);
  for (int i = 0; i < 3; ++i) {
    for (const std::int32_t state : {second, MaskTree::kRoot, first}) masks.allowed(state);
  }
  EXPECT_EQ(fills, 3);
  EXPECT_EQ(masks.after(MaskTree::kRoot, 1), first);
}

/// Each mask takes a third of what a round may take.
class DearConstraint final : public TokenConstraint {
 public:
  bool accept(TokenId token) override { return inner_.accept(token); }
  void roll_back(int tokens) override { inner_.roll_back(tokens); }
  bool ended() const override { return false; }
  void fill(std::span<std::uint32_t> mask) override {
    work_ += MaskTree::kRoundWork / 3;
    inner_.fill(mask);
  }
  std::int64_t work() const override { return work_; }

 private:
  std::int64_t work_ = 0;
  ParityConstraint inner_{kTokens};
};

TEST(MaskTree, DraftsLessWhereMasksAreDear) {
  MaskTree masks(std::make_unique<DearConstraint>(), kTokens);
  std::vector<TokenId> legal;
  for (TokenId a = 0; a < kTokens; ++a) {
    if (allows(masks.allowed(MaskTree::kRoot), a)) legal.push_back(a);
  }
  for (int round = 0; round < 3; ++round) {
    masks.allowed(MaskTree::kRoot);
    DraftTree tree;
    tree.reset(0, 9);
    for (int i = 0; i < 5; ++i) tree.add(DraftTree::kRoot, legal[i], -1.0f, 1);
    masks.prune(tree);
    EXPECT_EQ(tree.size(), 3) << round;
    // What was kept is known, whatever it takes.
    for (std::int32_t node = 0; node < tree.size(); ++node) {
      const std::int32_t state = masks.at(tree, node);
      ASSERT_NE(state, MaskTree::kIllegal);
      EXPECT_FALSE(masks.allowed(state).empty());
    }
    masks.advance(legal[0]);
    legal.clear();
    for (TokenId a = 0; a < kTokens; ++a) {
      if (allows(masks.allowed(MaskTree::kRoot), a)) legal.push_back(a);
    }
  }
}

/// Masks behind so many tokens and more take more than a round has, and are not made within it.
class DeepConstraint final : public ParityConstraint {
 public:
  explicit DeepConstraint(int dear) : ParityConstraint(kTokens), dear_(dear) {}
  void fill(std::span<std::uint32_t> mask) override {
    work_ += length() < dear_ ? 10 : 3 * MaskTree::kRoundWork;
    ParityConstraint::fill(mask);
  }
  bool try_fill(std::span<std::uint32_t> mask, std::int64_t steps) override {
    if (length() >= dear_ && steps < 3 * MaskTree::kRoundWork) {
      work_ += steps;
      return false;
    }
    fill(mask);
    return true;
  }
  std::int64_t work() const override { return work_; }

 private:
  const int dear_;
  std::int64_t work_ = 0;
};

TEST(MaskTree, AMaskBeyondTheRoundIsNotKnownAndNothingIsDraftedBehindIt) {
  MaskTree masks(std::make_unique<DeepConstraint>(2), kTokens);
  ASSERT_TRUE(masks.try_root_mask());
  const std::int32_t first = masks.after(MaskTree::kRoot, 1);
  const std::int32_t second = masks.after(first, 3);
  ASSERT_NE(second, MaskTree::kIllegal);
  EXPECT_TRUE(masks.knows(first));
  EXPECT_FALSE(masks.knows(second));
  EXPECT_TRUE(masks.allowed(second).empty());
  EXPECT_EQ(masks.after(second, 5), MaskTree::kIllegal);
  EXPECT_TRUE(masks.knows(first)) << "what was known stays so";
}

TEST(MaskTree, ADearMaskOfTheTextIsMadeWhenItIsAskedForAndIsNoPartOfTheShare) {
  for (const bool elsewhere : {false, true}) {
    MaskTree masks(std::make_unique<DeepConstraint>(1), kTokens);
    ASSERT_TRUE(masks.try_root_mask());
    masks.advance(1);
    if (elsewhere) {
      EXPECT_FALSE(masks.try_root_mask());
      masks.make_root_mask([] { return false; });
    }
    for (TokenId b = 0; b < kTokens; ++b) {
      ASSERT_EQ(allows(masks.allowed(MaskTree::kRoot), b), ParityConstraint::allows({1, b}));
    }
    EXPECT_TRUE(masks.try_root_mask());
  }
}

TEST(MaskTree, PrunesADraftToWhatIsAllowed) {
  MaskTree masks(std::make_unique<ParityConstraint>(kTokens), kTokens);
  DraftTree tree;
  tree.reset(0, 9);
  for (TokenId a = 0; a < 6; ++a) {
    const std::int32_t first = tree.add(DraftTree::kRoot, a, -1.0f, 1);
    for (TokenId b = 0; b < 6; ++b) tree.add(first, b, -1.0f, 1);
  }
  masks.prune(tree);
  int expected = 0;
  for (TokenId a = 0; a < 6; ++a) {
    if (!ParityConstraint::allows({a})) continue;
    ++expected;
    for (TokenId b = 0; b < 6; ++b) expected += ParityConstraint::allows({a, b}) ? 1 : 0;
  }
  EXPECT_EQ(tree.size(), 1 + expected);
  for (std::int32_t node = 1; node < tree.size(); ++node) EXPECT_NE(masks.at(tree, node), MaskTree::kIllegal);
}

TEST(MaskTree, FollowsTheText) {
  MaskTree masks(std::make_unique<ParityConstraint>(kTokens), kTokens);
  std::vector<TokenId> text;
  for (int i = 0; i < 12; ++i) {
    masks.after(masks.after(MaskTree::kRoot, 3), 4);  // a draft that comes to nothing
    TokenId next = 0;
    while (!allows(masks.allowed(MaskTree::kRoot), next)) ++next;
    masks.advance(next);
    text.push_back(next);
    ASSERT_TRUE(ParityConstraint::allows(text));
  }
}

}  // namespace
}  // namespace augur
