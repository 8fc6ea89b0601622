// Token recycling proposes what it was shown, within its bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "draft/registry.h"
#include "support/stories_source.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Recycling : public testing::Test {
 protected:
  /// The target held `likeliest` likeliest after the token, with logits 2, 1, 0, ...
  static void show(Drafter& drafter, TokenId token, const std::vector<TokenId>& likeliest) {
    std::vector<float> logits;
    for (std::size_t i = 0; i < likeliest.size(); ++i) logits.push_back(2.0f - static_cast<float>(i));
    const std::int32_t parent = -1;
    const std::int32_t position = 7;
    drafter.saw({.tokens = {&token, 1},
                 .parents = {&parent, 1},
                 .positions = {&position, 1},
                 .top_tokens = likeliest.data(),
                 .top_logits = logits.data(),
                 .top_k = static_cast<int>(likeliest.size())});
  }
  static std::vector<TokenId> proposed(Drafter& drafter, TokenId root, int top_k = 8) {
    DraftTree tree;
    tree.reset(root, 8);
    const std::int32_t frontier[] = {DraftTree::kRoot};
    drafter.expand(tree, frontier, {.top_k = top_k, .max_nodes = top_k});
    return {tree.tokens().begin() + 1, tree.tokens().end()};
  }

  testing_support::Stories stories_;
  std::unique_ptr<DrafterModel> model_ =
      find_drafter_type("recycling").load(testing_support::stories_source(stories_));
};

TEST_F(Recycling, ProposesWhatTheTargetHeldLikeliestAfterTheTokenLast) {
  const auto drafter = model_->make({});
  EXPECT_THAT(proposed(*drafter, 5), IsEmpty());
  show(*drafter, 5, {30, 31, 32, 33, 34, 35, 36, 37});
  show(*drafter, 6, {40, 41, 42, 43, 44, 45, 46, 47});
  EXPECT_THAT(proposed(*drafter, 5, 2), ElementsAre(30, 31));
  EXPECT_THAT(proposed(*drafter, 6, 3), ElementsAre(40, 41, 42));
  show(*drafter, 5, {50, 51});
  EXPECT_THAT(proposed(*drafter, 5), ElementsAre(50, 51)) << "and no more than it was shown";
}

TEST_F(Recycling, ItsProbabilitiesAreTheTargetsAndLess) {
  const auto drafter = model_->make({});
  show(*drafter, 5, {30, 31, 32});
  DraftTree tree;
  tree.reset(5, 8);
  const std::int32_t frontier[] = {DraftTree::kRoot};
  drafter->expand(tree, frontier, {.top_k = 8, .max_nodes = 8});
  ASSERT_EQ(tree.size(), 4);
  double sum = 0;
  for (std::size_t node = 1; node < 4; ++node) sum += std::exp(static_cast<double>(tree.log_probs()[node]));
  EXPECT_NEAR(sum, 0.72, 1e-6);
  EXPECT_NEAR(tree.log_probs()[1] - tree.log_probs()[2], 1.0, 1e-6);
}

TEST_F(Recycling, TextsThatLeaveNothingSeeWhatOthersHaveLeft) {
  const auto first = model_->make({});
  show(*first, 5, {30});
  const auto silent = model_->make({.keep_output = false});
  EXPECT_THAT(proposed(*silent, 5), ElementsAre(30));
  show(*silent, 5, {31});
  show(*silent, 6, {32});
  EXPECT_THAT(proposed(*silent, 6), ElementsAre(32));
  EXPECT_THAT(proposed(*first, 5), ElementsAre(30));
  EXPECT_THAT(proposed(*first, 6), IsEmpty());
  EXPECT_THAT(proposed(*model_->make({.owner = "other"}), 5), IsEmpty());
}

TEST_F(Recycling, TextsThatLeaveNothingCopyNothing) {
  const auto first = model_->make({});
  const auto silent = model_->make({.keep_output = false});
  show(*silent, 6, {32});
  show(*first, 5, {30});
  show(*first, 6, {31});
  EXPECT_THAT(proposed(*silent, 5), ElementsAre(30)) << "looked up when it is asked for";
  EXPECT_THAT(proposed(*silent, 6), ElementsAre(32)) << "its own go first";
  model_->forget_learnt();
  EXPECT_THAT(proposed(*silent, 5), IsEmpty());
  EXPECT_THAT(proposed(*silent, 6), ElementsAre(32));
}

TEST_F(Recycling, OfMoreTokensThanThereIsRoomForTheOldestMakeWay) {
  const auto drafter = model_->make({});
  for (const std::int64_t bytes : {6000, 12000, 1 << 20}) {
    model_->limit_learnt(bytes);
    int known = 0;
    for (TokenId token = 0; token < 512; ++token) show(*drafter, token, {token, 1, 2});
    EXPECT_LE(model_->learnt_bytes(), bytes);
    for (TokenId token = 0; token < 512; ++token) known += proposed(*drafter, token).empty() ? 0 : 1;
    EXPECT_GT(known, 10) << bytes;
    EXPECT_EQ(known < 512, bytes < 100000) << bytes;
    EXPECT_THAT(proposed(*drafter, 511, 1), ElementsAre(511)) << "the newest";
  }
  model_->limit_learnt(100);
  EXPECT_EQ(model_->learnt_bytes(), 0);
  show(*drafter, 5, {30});
  EXPECT_EQ(model_->learnt_bytes(), 0) << "there is room for nothing";
  EXPECT_FALSE(model_->drop_learnt());
}

}  // namespace
}  // namespace augur
