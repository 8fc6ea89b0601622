// Every promise of an expansion that is broken is found.
#include "draft/expansion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace augur {
namespace {

class Expansion : public testing::Test {
 protected:
  static constexpr std::int32_t kVocab = 16;

  Expansion() { begin(false); }
  void begin(bool sampled) {
    tree_.reset(3, 8);
    if (sampled) tree_.set_sampled(kVocab);
    add(0, 5);
    first_ = add(0, 6) + 1;  // two nodes that were there before
  }
  std::int32_t add(std::int32_t parent, TokenId token, float log_prob = -1, ProposerId proposer = 1) {
    return tree_.add(parent, token, log_prob, proposer);
  }
  std::string_view broken() {
    return broken_promise({nullptr, &tree_, frontier_, options_}, traits_, first_, kVocab);
  }

  DrafterTraits traits_;
  DraftTree tree_;
  std::int32_t first_ = 0;
  std::vector<std::int32_t> frontier_ = {1, 2};
  ExpandOptions options_{.top_k = 2, .max_nodes = 3};
};

TEST_F(Expansion, MayAddWhatItIsAskedForOrLess) {
  EXPECT_EQ(broken(), "");
  add(1, 0, 0.0f);
  add(1, kVocab - 1, -1.0f);
  EXPECT_EQ(broken(), "");
  add(2, 7, -0.5f);
  EXPECT_EQ(broken(), "");
}

TEST_F(Expansion, AddsNoMoreThanThat) {
  add(1, 7);
  add(1, 8);
  add(1, 9);
  EXPECT_EQ(broken(), "more than top_k children");
  options_.max_nodes = 2;
  EXPECT_EQ(broken(), "more than max_nodes");
}

TEST_F(Expansion, AddsToTheFrontier) {
  add(0, 7);
  EXPECT_EQ(broken(), "a child of a node that was not to be expanded");
}

TEST_F(Expansion, IsOneLevel) {
  add(add(1, 7), 8);
  EXPECT_EQ(broken(), "a child of a node that was not to be expanded");
  traits_.one_shot = true;
  EXPECT_EQ(broken(), "");
}

TEST_F(Expansion, IsNoDeeperThanTheDrafter) {
  traits_.max_depth = 1;
  add(1, 7);
  EXPECT_EQ(broken(), "a node deeper than its max_depth");
}

TEST_F(Expansion, IsOfTheVocabulary) {
  for (const TokenId token : {-1, int{kVocab}}) {
    add(1, token);
    EXPECT_EQ(broken(), "a token outside the vocabulary");
    tree_.truncate(first_);
  }
}

TEST_F(Expansion, HasLogarithmsOfProbabilities) {
  for (const float log_prob : {NAN, -INFINITY, INFINITY, 0.01f}) {
    add(1, 7, log_prob);
    EXPECT_EQ(broken(), "a log_prob that is none");
    tree_.truncate(first_);
  }
}

TEST_F(Expansion, IsBestFirst) {
  add(1, 7, -1.0f);
  add(2, 7, -0.5f);
  EXPECT_EQ(broken(), "") << "of another parent";
  add(1, 8, -0.5f);
  EXPECT_EQ(broken(), "a better child behind a worse one");
}

TEST_F(Expansion, SaysWhoProposes) {
  add(1, 7, -1.0f, 2);
  EXPECT_EQ(broken(), "another proposer");
}

TEST_F(Expansion, DrawsFromWhatItStores) {
  options_.sample = true;
  begin(true);
  add(1, 7, -2.0f);
  EXPECT_EQ(broken(), "a child that its q does not hold");
  const std::span<float> q = tree_.make_q(1);
  std::fill(q.begin(), q.end(), 0.0f);
  EXPECT_EQ(broken(), "a child that its q does not hold");
  q[7] = 0.2f;
  q[8] = 0.8f;
  add(1, 8, -0.1f);
  EXPECT_EQ(broken(), "") << "in the order in which they were drawn";
  traits_.has_probabilities = false;
  EXPECT_EQ(broken(), "a better child behind a worse one");
}

TEST_F(Expansion, OfOneShotIsOneBranchUnlessATreeIsAskedFor) {
  traits_ = {.one_shot = true, .branching = true};
  frontier_ = {2};
  options_ = {.top_k = 3, .max_nodes = 3};
  const std::int32_t node = add(2, 7);
  add(node, 8);
  add(node, 9);
  EXPECT_EQ(broken(), "");
  options_.branching = false;
  EXPECT_EQ(broken(), "several branches where one was asked for");
  options_.branching = true;
  traits_.branching = false;
  EXPECT_EQ(broken(), "several branches where one was asked for");
  options_.top_k = 2;
  EXPECT_EQ(broken(), "more than top_k tokens of a branch");
}

}  // namespace
}  // namespace augur
