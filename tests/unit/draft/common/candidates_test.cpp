#include "draft/common/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/cpu_device.h"

namespace augur {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kVocab = 32;
constexpr std::int64_t kWidth = 32;

/// A head whose logits are the state.
class CandidatesTest : public testing::Test {
 protected:
  CandidatesTest() : matrix_(DType::F32, kVocab, kWidth) {
    std::vector<float> identity(kVocab * kWidth, 0.0f);
    for (std::size_t i = 0; i < kVocab; ++i) identity[i * kWidth + i] = 1.0f;
    matrix_.set_rows(0, identity);
    head_ = VocabularyHead({.device = &device_, .matrix = &matrix_, .usable = kVocab});
    for (DraftTree& tree : trees_) tree.reset(0, 10);
  }

  /// A state that makes token t the likeliest, then t + 1, and so on.
  static std::vector<float> state(std::size_t t) {
    std::vector<float> out(kWidth, 0.0f);
    for (std::size_t i = 0; i < 4; ++i) out[(t + i) % kVocab] = 8.0f - static_cast<float>(i);
    return out;
  }
  static std::vector<TokenId> children(const DraftTree& tree, std::int32_t node) {
    std::vector<TokenId> out;
    for (std::int32_t c = tree.first_child(node); c >= 0; c = tree.next_sibling(c)) {
      out.push_back(tree.tokens()[static_cast<std::size_t>(c)]);
    }
    return out;
  }
  ExpandJob job(std::size_t tree, const ExpandOptions& options) {
    return {nullptr, &trees_[tree], {}, options};
  }

  Backend backend_{2, false};
  CpuDevice device_{backend_};
  PackedMatrix matrix_;
  VocabularyHead head_;
  DraftTree trees_[2];
  Candidates candidates_;
};

TEST_F(CandidatesTest, ChildrenFollowFromTheRowsThatWereWanted) {
  const std::int32_t node = trees_[1].add(0, 5, std::log(0.25f), 1);
  const ExpandJob jobs[] = {job(0, {.top_k = 2, .max_nodes = 2}), job(1, {.top_k = 3, .max_nodes = 6})};
  candidates_.begin(jobs);
  EXPECT_TRUE(candidates_.want(0, 0, 7));
  EXPECT_TRUE(candidates_.want(1, 0, 3));
  EXPECT_TRUE(candidates_.want(1, node, 4));
  EXPECT_THAT(candidates_.rows(), ElementsAre(7, 3, 4));
  const std::span<HeadRow> rows = candidates_.head_rows();
  EXPECT_EQ(rows[2].token, 5);
  EXPECT_EQ(rows[2].step, 1);
  EXPECT_NEAR(rows[2].weight, 0.25f, 1e-6f);
  EXPECT_EQ(rows[1].weight, 1.0f);
  EXPECT_EQ(rows[1].sequence, rows[2].sequence);
  EXPECT_NE(rows[0].sequence, rows[1].sequence);

  const std::vector<float> states[] = {state(10), state(20), state(30)};
  for (std::size_t i = 0; i < 3; ++i) rows[i].state = states[i].data();
  candidates_.add_children(head_);
  EXPECT_THAT(children(trees_[0], 0), ElementsAre(10, 11));
  EXPECT_THAT(children(trees_[1], 0), ElementsAre(5, 20, 21, 22));
  EXPECT_THAT(children(trees_[1], node), ElementsAre(30, 31, 0));
  double total = 0;
  for (const float x : states[0]) total += std::exp(double{x});
  EXPECT_NEAR(trees_[0].log_probs()[1], 8.0 - std::log(total), 1e-5);
  EXPECT_TRUE(candidates_.empty());
}

TEST_F(CandidatesTest, AJobGetsNoMoreNodesThanItMayAdd) {
  const std::int32_t a = trees_[0].add(0, 5, -1.0f, 1), b = trees_[0].add(0, 6, -1.0f, 1);
  const ExpandJob jobs[] = {job(0, {.top_k = 2, .max_nodes = 3})};
  candidates_.begin(jobs);
  EXPECT_TRUE(candidates_.want(0, 0, 0));
  const std::vector<float> first = state(10), second = state(20);
  candidates_.head_rows()[0].state = first.data();
  candidates_.add_children(head_);
  // What the first nodes have used stays used.
  EXPECT_TRUE(candidates_.want(0, a, 1));
  EXPECT_FALSE(candidates_.want(0, b, 2));
  EXPECT_FALSE(candidates_.want_same(0, b));
  EXPECT_FALSE(candidates_.offer(0, b, second, {}));
  ASSERT_EQ(candidates_.size(), 1u);
  candidates_.head_rows()[0].state = second.data();
  candidates_.add_children(head_);
  EXPECT_THAT(children(trees_[0], 0), ElementsAre(5, 6, 10, 11));
  EXPECT_THAT(children(trees_[0], a), ElementsAre(20));
  EXPECT_THAT(children(trees_[0], b), ElementsAre());
}

TEST_F(CandidatesTest, NodesMayShareARow) {
  const std::int32_t a = trees_[0].add(0, 5, -1.0f, 1), b = trees_[0].add(0, 6, -1.0f, 1);
  const ExpandJob jobs[] = {job(0, {.top_k = 2, .max_nodes = 4})};
  candidates_.begin(jobs);
  EXPECT_TRUE(candidates_.want(0, a, 0));
  EXPECT_TRUE(candidates_.want_same(0, b));
  ASSERT_EQ(candidates_.head_rows().size(), 1u);
  const std::vector<float> given = state(20);
  candidates_.head_rows()[0].state = given.data();
  candidates_.add_children(head_);
  EXPECT_THAT(children(trees_[0], a), ElementsAre(20, 21));
  EXPECT_THAT(children(trees_[0], b), ElementsAre(20, 21));
}

TEST_F(CandidatesTest, AllLogitsAreThereForThoseWhoNeedThem) {
  // Entropies are over all logits, beside a job whose children need the largest only.
  const ExpandJob jobs[] = {job(0, {.top_k = 1, .max_nodes = 1}),
                            job(1, {.top_k = 1, .max_nodes = 1, .wants = {.entropy = true, .hidden = true}})};
  candidates_.begin(jobs);
  candidates_.want(0, 0, 0);
  candidates_.want(1, 0, 1);
  EXPECT_FALSE(candidates_.wants_state(0));
  ASSERT_TRUE(candidates_.wants_state(1));
  const std::vector<float> given = state(20), uniform(kWidth, 0.0f), hidden{1.0f, 2.0f};
  candidates_.head_rows()[0].state = given.data();
  candidates_.head_rows()[1].state = uniform.data();
  candidates_.set_state(1, hidden);
  candidates_.add_children(head_);
  EXPECT_THAT(children(trees_[0], 0), ElementsAre(20));
  EXPECT_NEAR(trees_[1].entropies()[0], std::log(double{kVocab}), 1e-5);
  EXPECT_TRUE(std::ranges::equal(trees_[1].hidden(0), hidden));
  EXPECT_TRUE(trees_[0].hidden(0).empty());
}

TEST_F(CandidatesTest, OfferedLogitsCanBeTurnedDown) {
  const std::int32_t a = trees_[0].add(0, 5, -1.0f, 1), b = trees_[0].add(0, 6, -1.0f, 1);
  const ExpandJob jobs[] = {job(0, {.top_k = 2, .max_nodes = 4})};
  candidates_.begin(jobs);
  const std::vector<float> first = state(10), second = state(20);
  candidates_.offer(0, a, first, {});
  candidates_.offer(0, b, second, {});
  candidates_.filter([&](std::size_t i) { return candidates_.nodes()[i].node == b; });
  ASSERT_EQ(candidates_.size(), 1u);
  EXPECT_EQ(&candidates_.job(0), jobs);
  std::vector<TokenId> ids;  // of a draft vocabulary of its own
  for (TokenId id = 0; id < kVocab; ++id) ids.push_back(100 + id);
  candidates_.add_children(backend_, ids);
  EXPECT_THAT(children(trees_[0], a), ElementsAre());
  EXPECT_THAT(children(trees_[0], b), ElementsAre(120, 121));
}

}  // namespace
}  // namespace augur
