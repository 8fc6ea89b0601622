// What expanding a node records about it: entropies against sums over all logits, hidden states against the
// drafter's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "draft/common/child_chooser.h"
#include "draft/registry.h"
#include "sampling/sampler.h"
#include "support/golden_head.h"
#include "support/stories.h"
#include "support/stories_source.h"

namespace augur {
namespace {

/// Entropy over the k largest, by sorting everything.
double slow_entropy(std::vector<float> logits, std::size_t k) {
  std::sort(logits.begin(), logits.end(), std::greater<>());
  logits.resize(std::min(k, logits.size()));
  double z = 0.0;
  for (const float x : logits) z += std::exp(double{x} - logits[0]);
  double h = 0.0;
  for (const float x : logits) {
    const double p = std::exp(double{x} - logits[0]) / z;
    if (p > 0) h -= p * std::log(p);
  }
  return h;
}

class NodeFeatures : public testing::TestWithParam<bool> {};

TEST_P(NodeFeatures, EntropiesAreThoseOfTheLogits) {
  const bool sampled = GetParam();
  constexpr int kVocab = 3000;
  ThreadPool pool(2, false);
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<std::vector<float>> logits(3, std::vector<float>(kVocab));
  for (auto& row : logits) {
    for (float& x : row) x = normal(random);
  }
  Sampler sampler({.temperature = 1.0f, .seed = 7}, kVocab);
  ExpandOptions options{.top_k = 2,
                        .max_nodes = 6,
                        .wants = {.entropy = true, .top_k = 8, .hidden = true},
                        .sample = sampled,
                        .sampler = &sampler};
  DraftTree tree;
  tree.reset(0, 10);
  if (sampled) tree.set_sampled(kVocab);
  ChildChooser chooser;
  const std::vector<float> state{1.0f, -2.0f, 0.5f};
  const NodeLogits root[] = {{&tree, 0, &options, 2, logits[0], state}};
  chooser.add_children(pool, root, {});
  ASSERT_EQ(tree.size(), 3);
  const NodeLogits level[] = {{&tree, 1, &options, 2, logits[1], {}}, {&tree, 2, &options, 2, logits[2], {}}};
  chooser.add_children(pool, level, {});
  ASSERT_EQ(tree.size(), 7);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_NEAR(tree.entropies()[node], slow_entropy(logits[node], 1000), 1e-4);
    EXPECT_NEAR(tree.top_entropies()[node], slow_entropy(logits[node], 8), 1e-4);
  }
  EXPECT_TRUE(std::isnan(tree.entropies()[3]) && std::isnan(tree.top_entropies()[3])) << "not expanded";
  EXPECT_TRUE(std::ranges::equal(tree.hidden(0), state));
  EXPECT_TRUE(tree.hidden(1).empty()) << "this drafter had none";

  const std::int32_t keep[] = {0, 2, 5};
  tree.select(keep);
  EXPECT_NEAR(tree.entropies()[1], slow_entropy(logits[2], 1000), 1e-4) << "features stay with their nodes";
  EXPECT_TRUE(std::isnan(tree.entropies()[2]));
  EXPECT_TRUE(std::ranges::equal(tree.hidden(0), state));
}

INSTANTIATE_TEST_SUITE_P(Laws, NodeFeatures, testing::Bool(),
                         [](const auto& test) { return test.param ? "Sampled" : "Deterministic"; });

TEST(NodeFeatures, NothingIsRecordedUnasked) {
  ThreadPool pool(1, false);
  const std::vector<float> logits{1.0f, 2.0f, 3.0f};
  const ExpandOptions options{.top_k = 1, .max_nodes = 1};
  DraftTree tree;
  tree.reset(0, 0);
  ChildChooser chooser;
  const NodeLogits root[] = {{&tree, 0, &options, 1, logits, logits}};
  chooser.add_children(pool, root, {});
  EXPECT_TRUE(std::isnan(tree.entropies()[0]));
  EXPECT_TRUE(tree.hidden(0).empty());
}

TEST(NodeFeatures, GraftedTreesLendWhatIsMissing) {
  DraftTree tree, other;
  for (DraftTree* t : {&tree, &other}) {
    t->reset(0, 0);
    t->add(0, 1, -1.0f, 1);
  }
  other.add(1, 2, -1.0f, 2);
  tree.set_entropy(0, 3.0f);
  other.set_entropy(0, 4.0f);
  other.set_entropy(1, 5.0f);
  tree.graft(other);
  EXPECT_EQ(tree.entropies()[0], 3.0f);
  EXPECT_EQ(tree.entropies()[1], 5.0f);
}

TEST(NodeFeatures, ADraftModelHandsOverItsNormedState) {
  testing_support::Stories stories;
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.2f);
  const Checkpoint head = Checkpoint::open(folder.path());
  const auto shared = find_drafter_type("draft").load(testing_support::stories_source(stories, &head));
  const auto drafter = shared->make({.context = 512});
  const std::vector<TokenId> prompt = stories.prompt("Once upon a time there");
  DraftTree tree;
  tree.reset(prompt.back(), std::ssize(prompt) - 1);
  drafter->sync({.tokens = std::span(prompt).first(prompt.size() - 1), .next = prompt.back()});
  const ExpandOptions options{.top_k = 2, .max_nodes = 4, .wants = {.hidden = true}};
  const std::int32_t root[] = {0};
  drafter->expand(tree, root, options);
  const std::int32_t level[] = {1, 2};
  drafter->expand(tree, level, options);
  drafter->end_round();

  // The same rows, run plainly.
  const auto model = Model::load(stories.backend, head, {});
  for (const std::int32_t node : {0, 2}) {
    std::vector<TokenId> text = prompt;
    if (node != 0) text.push_back(tree.tokens()[static_cast<std::size_t>(node)]);
    KvCache cache = model->make_cache(64);
    KvTxn txn = cache.reserve(std::ssize(text));
    std::vector<std::int32_t> positions(text.size()), parents(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      positions[i] = static_cast<std::int32_t>(i);
      parents[i] = static_cast<std::int32_t>(i) - 1;
    }
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = static_cast<int>(text.size())};
    model->forward({.tokens = text, .positions = positions, .parents = parents, .sequences = {&sequence, 1}});
    const std::span<const float> rows = model->result();
    const auto hidden = static_cast<std::size_t>(model->config().hidden);
    std::vector<float> expected(hidden);
    model->final_norm(rows.data() + (text.size() - 1) * hidden, 1, expected.data());
    EXPECT_TRUE(std::ranges::equal(tree.hidden(node), expected)) << "node " << node;
  }
  EXPECT_TRUE(tree.hidden(3).empty()) << "not expanded";
}

class HeadStates : public testing::TestWithParam<const char*> {};

TEST_P(HeadStates, AreHandedOver) {
  const std::string folder = GetParam();
  const Checkpoint head = Checkpoint::open(testing_support::golden_head_path(folder));
  testing_support::GoldenTarget target(WeightFormat::BF16);
  const auto shared = target.load(folder.substr(0, folder.find('_')), head);
  const auto drafter = shared->make({.context = 64});
  const std::size_t taps = drafter->tap_layers().size();
  const std::vector<float> features(3 * taps * static_cast<std::size_t>(target.model->config().hidden),
                                    0.25f);
  const std::vector<TokenId> tokens{1, 2, 3};
  KvCache cache = target.model->make_cache(64);
  drafter->sync({.tokens = tokens, .features = features.data(), .next = 4});
  DraftTree tree;
  tree.reset(4, 3);
  const ExpandOptions options{.top_k = 2, .max_nodes = 4, .wants = {.hidden = true}, .target_cache = &cache};
  std::vector<std::int32_t> frontier{0};
  drafter->expand(tree, frontier, options);
  frontier = {1, 2};
  drafter->expand(tree, frontier, options);
  for (const std::int32_t node : {0, 1, 2}) {
    ASSERT_FALSE(tree.hidden(node).empty());
  }
  EXPECT_FALSE(std::ranges::equal(tree.hidden(1), tree.hidden(2)));
  drafter->end_round();
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadStates,
                         testing::Values("eagle", "eagle3_official", "mtp_deepseek", "layerskip"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur
