#include "draft/common/child_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "sampling/gumbel.h"
#include "sampling/sampler.h"
#include "support/probability_of.h"

namespace augur {
namespace {

using testing_support::probability_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int kVocab = 3000;

std::vector<float> random_logits(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> logits(static_cast<std::size_t>(count));
  for (float& x : logits) x = normal(random);
  return logits;
}

/// Every seventh token of the target.
std::vector<TokenId> some_ids() {
  std::vector<TokenId> ids;
  for (TokenId id = 3; id < kVocab; id += 7) ids.push_back(id);
  return ids;
}

enum class Ranking { Own, Coupled, Drawn };

class Rankings : public testing::TestWithParam<Ranking> {
 protected:
  ExpandOptions options() {
    return {.top_k = 4,
            .max_nodes = 100,
            .wants = {.entropy = true, .hidden = true},
            .sample = GetParam() == Ranking::Drawn,
            .coupled = GetParam() == Ranking::Coupled,
            .sampler = &sampler_};
  }
  DraftTree tree() {
    DraftTree tree;
    tree.reset(0, 10);
    if (GetParam() == Ranking::Drawn) tree.set_sampled(kVocab);
    return tree;
  }

  ThreadPool pool_{2, false};
  Sampler sampler_{{.temperature = 1.0f, .seed = 7}, kVocab};
  ChildChooser chooser_;
};

TEST_P(Rankings, WhatIsNotFiniteIsNotProposed) {
  const ExpandOptions options = this->options();
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    for (const bool all : {false, true}) {
      SCOPED_TRACE(testing::Message() << bad << (all ? " everywhere" : " once"));
      const std::vector<float> good = random_logits(kVocab, 1);
      std::vector<float> broken = all ? std::vector<float>(kVocab, bad) : good;
      broken[1234] = bad;
      DraftTree tree = this->tree();
      tree.add(0, 1, -1.0f, 1);
      tree.add(0, 2, -1.0f, 1);
      const std::vector<float> state{1.0f, bad};
      const NodeLogits rows[] = {{&tree, 1, &options, 4, broken, state}, {&tree, 2, &options, 4, good, {}}};
      chooser_.add_children(pool_, rows, {});
      for (const float log_prob : tree.log_probs()) EXPECT_TRUE(std::isfinite(log_prob));
      for (const float score : tree.scores()) EXPECT_TRUE(std::isfinite(score));
      EXPECT_TRUE(tree.hidden(1).empty());
      int children = 0;
      for (std::int32_t c = tree.first_child(2); c >= 0; c = tree.next_sibling(c)) ++children;
      EXPECT_EQ(children, 4) << "the other row";
      const bool law = bad == -kInfinity && !all;
      EXPECT_EQ(tree.first_child(1) >= 0, law || (!all && GetParam() == Ranking::Coupled && std::isnan(bad)));
    }
  }
}

TEST_P(Rankings, NothingIsProposedThatTheParametersForbid) {
  const std::vector<TokenId> ids = some_ids();
  SamplingOptions params{.temperature = 1.0f};
  for (const TokenId id : ids) params.logit_bias.emplace_back(id, -kInfinity);
  Sampler sampler(params, kVocab);
  ExpandOptions options = this->options();
  options.sampler = &sampler;
  DraftTree tree = this->tree();
  const std::vector<float> logits = random_logits(static_cast<int>(ids.size()), 2);
  const NodeLogits rows[] = {{&tree, 0, &options, 4, logits, {}}};
  chooser_.add_children(pool_, rows, ids);
  EXPECT_EQ(tree.only_root(), GetParam() != Ranking::Own) << "which does not look at them";
  EXPECT_TRUE(tree.q(0).empty());
}

/// However deep a draft is, no more noise is kept than at first, and candidates are the same as where all of
/// it is.
TEST_P(Rankings, DeepDraftsKeepNoMoreNoise) {
  constexpr int kDepth = 40;
  Sampler roomy({.temperature = 1.0f, .seed = 7}, kVocab, 64);
  Sampler narrow({.temperature = 1.0f, .seed = 7}, kVocab, 3);
  DraftTree trees[] = {tree(), tree()};
  ExpandOptions options[] = {this->options(), this->options()};
  options[0].sampler = &roomy;
  options[1].sampler = &narrow;
  for (int depth = 0; depth < kDepth; ++depth) {
    const std::vector<float> logits = random_logits(kVocab, static_cast<unsigned>(depth));
    // Two nodes of different depths in one call, as heads have them.
    for (int i = 0; i < 2; ++i) {
      std::vector<NodeLogits> rows = {{&trees[i], trees[i].size() - 1, &options[i], 1, logits, {}}};
      // A node is drawn from once.
      if (depth == 5 && GetParam() != Ranking::Drawn)
        rows.push_back({&trees[i], 2, &options[i], 3, logits, {}});
      chooser_.add_children(pool_, rows, {});
    }
  }
  EXPECT_EQ(narrow.noise().rows(), 3);
  EXPECT_EQ(narrow.draft_noise().rows(), 3);
  EXPECT_TRUE(std::ranges::equal(trees[0].tokens(), trees[1].tokens()));
  EXPECT_TRUE(std::ranges::equal(trees[0].log_probs(), trees[1].log_probs()));
  PositionNoise alone(roomy.noise().seed(), kVocab);
  for (std::int64_t position = 11; position < 11 + kDepth; ++position) {
    EXPECT_TRUE(std::ranges::equal(narrow.noise().row(position), alone.row(position))) << position;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rankings, testing::Values(Ranking::Own, Ranking::Coupled, Ranking::Drawn),
                         [](const auto& test) {
                           return test.param == Ranking::Own       ? "Own"
                                  : test.param == Ranking::Coupled ? "Coupled"
                                                                   : "Drawn";
                         });

TEST(ChildChooser, TopsOfAFusedHeadThatAreNotFiniteEndTheRow) {
  ThreadPool pool(1, false);
  const ExpandOptions options{.top_k = 3, .max_nodes = 3};
  for (const float sum : {kNaN, kInfinity, 3.0f}) {
    const RowTop best{.entries = {5, 6, 7}, .values = {2.0f, 1.0f, -kInfinity}, .log_sum_exp = sum};
    DraftTree tree;
    tree.reset(0, 0);
    NodeLogits row{&tree, 0, &options, 3, {}, {}};
    row.best = &best;
    ChildChooser chooser;
    chooser.add_children(pool, {&row, 1}, {});
    EXPECT_EQ(tree.size(), sum == 3.0f ? 3 : 1);
  }
}

/// What a node's children are to be, token by token: the law of the sequence's own chain, and log q plus the
/// noise of the drafts' own stream.
void expect_draws(const DraftTree& tree, std::int32_t node, const Sampler& sampler,
                  const std::vector<float>& logits, const std::vector<TokenId>& ids) {
  SamplingOptions params = sampler.params();
  params.repetition_penalty = 1.0f;
  std::vector<float> padded(kVocab, -kInfinity);
  for (std::size_t i = 0; i < logits.size(); ++i)
    padded[ids.empty() ? i : static_cast<std::size_t>(ids[i])] = logits[i];
  SparseDistribution law;
  Sampler(params, kVocab).processed(padded, {}, law);
  std::vector<float> scores(law.tokens.size());
  const std::int64_t position = tree.root_position() + tree.depths()[static_cast<std::size_t>(node)] + 1;
  gumbel_at(params.seed ^ 0x6472616674657221u, position, law.tokens, scores.data());
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += std::log(law.probs[i]);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::int32_t child = tree.first_child(node);
  for (std::size_t i = 0; i < std::min<std::size_t>(4, order.size()); ++i) {
    ASSERT_GE(child, 0);
    EXPECT_EQ(tree.tokens()[static_cast<std::size_t>(child)], law.tokens[order[i]]);
    EXPECT_EQ(tree.log_probs()[static_cast<std::size_t>(child)], std::log(law.probs[order[i]]));
    child = tree.next_sibling(child);
  }
  EXPECT_LT(child, 0);
  ASSERT_EQ(tree.q(node).size(), static_cast<std::size_t>(kVocab));
  for (TokenId t = 0; t < kVocab; ++t)
    ASSERT_EQ(tree.q(node)[static_cast<std::size_t>(t)], probability_of(t, law));
}

TEST(ChildChooser, DrawsAreThoseOfTheSlowReference) {
  const SamplingOptions chains[] = {
      {.temperature = 1.0f, .seed = 1},
      {.temperature = 0.7f, .top_k = 40, .seed = 2},
      {.temperature = 1.3f, .top_k = 2, .seed = 3},
      {.temperature = 1.0f, .top_p = 0.9f, .repetition_penalty = 1.5f, .seed = 4},
      {.temperature = 0.9f, .min_p = 0.02f, .seed = 5},
      {.temperature = 0.05f, .logit_bias = {{10, -kInfinity}, {17, 4.0f}}, .seed = 6}};
  for (const SamplingOptions& params : chains) {
    for (const bool reduced : {false, true}) {
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << params.seed << (reduced ? ", reduced, " : ", ") << threads);
        ThreadPool pool(threads, false);
        const std::vector<TokenId> ids = reduced ? some_ids() : std::vector<TokenId>{};
        Sampler sampler(params, kVocab);
        const ExpandOptions options{.top_k = 4, .max_nodes = 100, .sample = true, .sampler = &sampler};
        DraftTree tree;
        tree.reset(0, 100);
        tree.set_sampled(kVocab);
        for (const std::int32_t parent : {0, 1, 1, 0}) tree.add(parent, tree.size(), -1.0f, 1);
        const int count = reduced ? static_cast<int>(ids.size()) : kVocab;
        std::vector<std::vector<float>> logits;
        for (unsigned r = 0; r < 3; ++r) logits.push_back(random_logits(count, 10 * r + 1));
        // Of two depths; two of them share their noise.
        const NodeLogits rows[] = {{&tree, 2, &options, 4, logits[0], {}},
                                   {&tree, 3, &options, 4, logits[1], {}},
                                   {&tree, 4, &options, 4, logits[2], {}}};
        ChildChooser chooser;
        chooser.add_children(pool, rows, ids);
        for (const std::int32_t node : {2, 3, 4}) {
          expect_draws(tree, node, sampler, logits[static_cast<std::size_t>(node) - 2], ids);
        }
      }
    }
  }
}

}  // namespace
}  // namespace augur
