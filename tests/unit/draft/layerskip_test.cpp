#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "draft/layerskip_drafter.h"
#include "model/prefill.h"
#include "support/golden_head.h"
#include "support/golden_models.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::GoldenHead;
using testing_support::GoldenTarget;
using testing_support::NoTokenizer;

/// One golden round, drafted with every possible child of each golden node.
void expect_round(Drafter& drafter, KvCache& cache, const nlohmann::json& round,
                  const std::vector<float>& logits) {
  const auto tokens = round["tokens"].get<std::vector<TokenId>>();
  const auto parents = round["parents"].get<std::vector<std::size_t>>();
  const auto depths = round["depths"].get<std::vector<int>>();
  const std::int64_t vocab = std::ssize(logits) / std::ssize(tokens);
  DraftTree tree;
  tree.reset(tokens[0], cache.length());
  std::vector<std::int32_t> node_of{0};
  std::vector<std::int32_t> frontier;
  for (int depth = 0; depth <= *std::max_element(depths.begin(), depths.end()); ++depth) {
    frontier.clear();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (depths[i] != depth) continue;
      if (i > 0) node_of.push_back(tree.find_child(node_of[parents[i]], tokens[i]));
      frontier.push_back(node_of[i]);
    }
    drafter.expand(tree, frontier,
                   {.top_k = static_cast<int>(vocab), .max_nodes = 1 << 20, .target_cache = &cache});
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::span<const float> row(logits.data() + static_cast<std::int64_t>(i) * vocab,
                                     static_cast<std::size_t>(vocab));
    const float lse = log_sum_exp(row.data(), vocab);
    for (std::size_t x = 0; x < row.size(); ++x) {
      const std::int32_t child = tree.find_child(node_of[i], static_cast<TokenId>(x));
      ASSERT_GE(child, 0) << "node " << i;
      ASSERT_NEAR(tree.log_probs()[static_cast<std::size_t>(child)], row[x] - lse, 1e-4) << "node " << i;
    }
  }
}

TEST(LayerSkip, LogitsOfAllRounds) {
  GoldenTarget target(WeightFormat::F32);
  const GoldenHead head("layerskip");
  const auto model = target.load("layerskip", head.checkpoint);
  const auto drafter = model->make({.context = 256});
  const auto text = head.expected["text"].get<std::vector<TokenId>>();
  KvCache cache = target.model->make_cache();
  for (std::size_t r = 0; r < head.expected["rounds"].size(); ++r) {
    SCOPED_TRACE("round " + std::to_string(r));
    const nlohmann::json& round = head.expected["rounds"][r];
    const auto committed = round["committed"].get<std::size_t>();
    const auto known = static_cast<std::size_t>(cache.length());
    prefill(*target.model, std::span(text).subspan(known, committed - known), cache);
    expect_round(*drafter, cache, round, head.values("round" + std::to_string(r) + ".logits"));
    if (HasFatalFailure()) return;
    drafter->end_round();
    EXPECT_EQ(cache.length(), static_cast<std::int64_t>(committed));
  }
}

TEST(LayerSkip, ExitsWhereItIsToldTo) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head("layerskip");
  const auto root_children = [&](const DrafterModel& model, int exit_layer) {
    const auto drafter = model.make({.exit_layer = exit_layer, .context = 256});
    KvCache cache = target.model->make_cache();
    prefill(*target.model, std::vector<TokenId>{1, 2, 3}, cache);
    DraftTree tree;
    tree.reset(4, 3);
    drafter->expand(tree, std::vector<std::int32_t>{0},
                    {.top_k = 192, .max_nodes = 192, .target_cache = &cache});
    drafter->end_round();
    return std::vector<float>(tree.log_probs().begin(), tree.log_probs().end());
  };
  const auto by_config = target.load("layerskip", head.checkpoint);  // says 3
  const DrafterSource source{.backend = target.backend,
                             .target = *target.model,
                             .tokenizer = target.tokenizer,
                             .target_path = "target",
                             .context = 256};
  const auto by_default = find_drafter_type("layerskip").load(source);  // a quarter of 8
  EXPECT_EQ(root_children(*by_config, 0), root_children(*by_default, 3));
  EXPECT_EQ(root_children(*by_config, 2), root_children(*by_default, 0));
  EXPECT_NE(root_children(*by_config, 0), root_children(*by_default, 0));
  for (const int impossible : {-1, 8, 100}) {
    try {
      by_default->make({.exit_layer = impossible});
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("expected 1 to 7"));
    }
  }
}

// Granite's are scaled, Gemma 2's softly capped.
TEST(LayerSkip, ProbabilitiesAreThoseOfTheTargetsOwnLogits) {
  for (const char* name : {"granite", "gemma2"}) {
    SCOPED_TRACE(name);
    Backend backend(2);
    const auto target = Model::load(backend, Checkpoint::open(testing_support::golden_model_path(name)),
                                    {.weights = WeightFormat::F32});
    const NoTokenizer tokenizer;
    const auto model = find_drafter_type("layerskip")
                           .load({.backend = backend,
                                  .target = *target,
                                  .tokenizer = tokenizer,
                                  .target_path = name,
                                  .context = target->context()});
    const auto drafter = model->make({.exit_layer = 1});
    KvCache cache = target->make_cache();
    prefill(*target, std::vector<TokenId>{1, 2, 3}, cache);
    const std::int64_t vocab = target->config().vocab;
    DraftTree tree;
    tree.reset(4, 3);
    const auto all = static_cast<int>(vocab);
    drafter->expand(tree, std::vector<std::int32_t>{0},
                    {.top_k = all, .max_nodes = all, .target_cache = &cache});
    const std::optional<EarlyRows> rows = drafter->take_early_rows();
    ASSERT_TRUE(rows);
    Buffer<float> logits(static_cast<std::size_t>((vocab + 15) / 16 * 16));
    target->logits_of(rows->hidden, 1, false, logits.data(), std::ssize(logits));
    const float sum = log_sum_exp(logits.data(), vocab);
    for (std::int64_t token = 0; token < vocab; ++token) {
      const std::int32_t child = tree.find_child(0, static_cast<TokenId>(token));
      ASSERT_GE(child, 0);
      ASSERT_NEAR(tree.log_probs()[static_cast<std::size_t>(child)], logits.data()[token] - sum, 1e-4);
    }
  }
}

TEST(LayerSkip, FallsSilentWhereTheContextEnds) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head("layerskip");
  const auto model = target.load("layerskip", head.checkpoint);
  KvCache cache = target.model->make_cache(6);
  const auto one = model->make({});  // holds rows of the cache when it goes
  prefill(*target.model, std::vector<TokenId>{1, 2, 3}, cache);
  DraftTree tree;
  tree.reset(4, 3);
  std::vector<std::int32_t> frontier{0};
  for (int level = 0; level < 10; ++level) {
    const std::int32_t before = tree.size();
    one->expand(tree, frontier, {.top_k = 2, .max_nodes = 4, .target_cache = &cache});
    frontier.clear();
    for (std::int32_t n = before; n < tree.size(); ++n) frontier.push_back(n);
  }
  EXPECT_EQ(tree.size(), 1 + 3 * 2) << "three rows, two children each";
}

}  // namespace
}  // namespace augur
