#include "draft/model_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "draft/registry.h"
#include "policy/eagle2_policy.h"
#include "sampling/sampler.h"
#include "support/stories.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::plain_log_probs;
using testing_support::Stories;
using testing_support::stories_path;

class ModelDrafterTest : public testing::Test {
 protected:
  ModelDrafterTest()
      : head_(Checkpoint::open(stories_path())),
        shared_(find_drafter_type("draft").load({.backend = target_.backend,
                                                 .target = *target_.model,
                                                 .tokenizer = *target_.tokenizer,
                                                 .target_path = "target",
                                                 .head = &head_,
                                                 .context = target_.model->context()})) {}

  std::unique_ptr<Drafter> make(std::int64_t context = 512) { return shared_->make({.context = context}); }

  static void grow(Drafter& drafter, DraftTree& tree, TreePolicy& policy, int max_depth = 100) {
    policy.begin({.room = 1000, .max_depth = max_depth});
    std::vector<std::int32_t> frontier;
    for (policy.next_frontier(tree, frontier); !frontier.empty(); policy.next_frontier(tree, frontier)) {
      drafter.expand(tree, frontier, {.top_k = policy.width(), .max_nodes = 1000});
    }
  }

  /// Every node's log-probability is what a plain forward over the text and the node's path gives, bit for
  /// bit, and every expanded node has the best tokens as children.
  void expect_exact(const DraftTree& tree, const std::vector<TokenId>& text, std::size_t width) {
    for (std::int32_t node = 0; node < tree.size(); ++node) {
      if (tree.first_child(node) < 0) continue;
      std::vector<TokenId> path;
      for (std::int32_t n = node; n >= 0; n = tree.parents()[static_cast<std::size_t>(n)]) {
        path.push_back(tree.tokens()[static_cast<std::size_t>(n)]);
      }
      std::vector<TokenId> context = text;
      context.insert(context.end(), path.rbegin(), path.rend());
      const std::vector<float> law = plain_log_probs(*target_.model, context);
      std::vector<float> best = law;
      std::sort(best.begin(), best.end(), std::greater<>());
      std::size_t rank = 0;
      for (std::int32_t c = tree.first_child(node); c >= 0; c = tree.next_sibling(c), ++rank) {
        const auto child = static_cast<std::size_t>(c);
        // The drafter adds the normaliser up in blocks.
        ASSERT_NEAR(tree.log_probs()[child], law[static_cast<std::size_t>(tree.tokens()[child])], 1e-5);
        ASSERT_NEAR(tree.log_probs()[child], best[rank], 1e-5);
      }
      ASSERT_EQ(rank, width);
    }
  }

  Stories target_;
  Checkpoint head_;
  std::unique_ptr<DrafterModel> shared_;
};

TEST_F(ModelDrafterTest, TreesOfManyRoundsAreExactWhateverWasAccepted) {
  const auto drafter = make();
  std::vector<TokenId> text = target_.prompt("Once upon a time, there was");
  TokenId root = text.back();
  text.pop_back();
  drafter->sync({.tokens = text, .first_position = 0, .next = root});
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    Eagle2Policy policy({.top_k = 3, .levels = 3, .size = 30});
    DraftTree tree;
    tree.reset(root, static_cast<std::int64_t>(text.size()));
    // Some rounds the drafter is not asked, and has to catch up later.
    if (round % 4 != 2) {
      grow(*drafter, tree, policy);
      ASSERT_EQ(tree.size(), 1 + 3 + 9 + 9);
      expect_exact(tree, text, 3);
    }
    drafter->end_round();
    // Accept a random path, then some token of the target's.
    std::vector<TokenId> accepted{root};
    std::int32_t node = 0;
    while (random() % 3 != 0 && tree.first_child(node) >= 0) {
      node = tree.first_child(node);
      if (random() % 2 == 0 && tree.next_sibling(node) >= 0) node = tree.next_sibling(node);
      accepted.push_back(tree.tokens()[static_cast<std::size_t>(node)]);
    }
    root = static_cast<TokenId>(3 + random() % 500);
    drafter->sync(
        {.tokens = accepted, .first_position = static_cast<std::int64_t>(text.size()), .next = root});
    text.insert(text.end(), accepted.begin(), accepted.end());
  }
}

TEST_F(ModelDrafterTest, SequencesDraftTogetherAsTheyDoAlone) {
  const std::vector<std::string> prompts{"Once upon a time", "Lily", "The big red ball was"};
  std::vector<DraftTree> alone(3), together(3);
  std::vector<std::unique_ptr<Drafter>> drafters;
  std::vector<std::vector<TokenId>> texts;
  const std::vector<std::int32_t> root{0}, level{1, 2, 3};
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    texts.push_back(target_.prompt(prompts[i]));
    const std::span<const TokenId> all(texts[i]);
    const AcceptedRows rows{.tokens = all.first(all.size() - 1), .next = all.back()};
    const auto one = make();
    one->sync(rows);
    drafters.push_back(make());
    drafters[i]->sync(rows);
    for (DraftTree* tree : {&alone[i], &together[i]}) tree->reset(all.back(), std::ssize(all) - 1);
    one->expand(alone[i], root, {.top_k = 3, .max_nodes = 3});
    one->expand(alone[i], level, {.top_k = 2, .max_nodes = 6});
  }
  for (const bool first : {true, false}) {
    std::vector<ExpandJob> jobs;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      jobs.push_back({drafters[i].get(),
                      &together[i],
                      first ? root : level,
                      {.top_k = first ? 3 : 2, .max_nodes = first ? 3 : 6}});
    }
    ASSERT_EQ(jobs[0].drafter->group(), jobs[1].drafter->group());
    jobs[0].drafter->expand_many(jobs);
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(together[i].size(), 10);
    EXPECT_TRUE(std::ranges::equal(alone[i].tokens(), together[i].tokens()));
    EXPECT_TRUE(std::ranges::equal(alone[i].log_probs(), together[i].log_probs()));
  }
}

TEST_F(ModelDrafterTest, FallsSilentWhereItsContextEnds) {
  const auto drafter = make(24);
  std::vector<TokenId> text(20, 300);
  drafter->sync({.tokens = text, .next = 301});
  Eagle2Policy policy({.top_k = 2, .levels = 6, .size = 60});
  DraftTree tree;
  tree.reset(301, 20);
  grow(*drafter, tree, policy, 6);
  EXPECT_GT(tree.size(), 1);
  drafter->end_round();
  drafter->sync({.tokens = std::vector<TokenId>{301, 300, 300, 300, 300}, .first_position = 20, .next = 302});
  tree.reset(302, 25);
  drafter->expand(tree, std::vector<std::int32_t>{0}, {.top_k = 2, .max_nodes = 2});
  EXPECT_TRUE(tree.only_root());
}

TEST_F(ModelDrafterTest, SamplesChildrenFromTheLawItStores) {
  const auto drafter = make();
  std::vector<TokenId> text = target_.prompt("Once upon a time, there was a");
  const TokenId root = text.back();
  text.pop_back();
  drafter->sync({.tokens = text, .next = root});
  std::vector<TokenId> context = text;
  context.push_back(root);
  const std::vector<float> law = plain_log_probs(*target_.model, context);
  std::vector<int> counts(law.size(), 0);
  const int runs = 3000;
  for (int run = 0; run < runs; ++run) {
    Sampler sampler({.temperature = 0.7f, .seed = static_cast<std::uint64_t>(run)}, 512);
    DraftTree tree;
    tree.reset(root, static_cast<std::int64_t>(text.size()));
    tree.set_sampled(512);
    drafter->expand(tree, std::vector<std::int32_t>{0},
                    {.top_k = 2, .max_nodes = 2, .sample = true, .sampler = &sampler});
    drafter->end_round();
    ASSERT_EQ(tree.size(), 3);
    ++counts[static_cast<std::size_t>(tree.tokens()[1])];
    if (run > 0) continue;
    double total = 0;
    for (std::size_t x = 0; x < law.size(); ++x) total += std::exp(law[x] / 0.7);
    for (std::size_t x = 0; x < law.size(); ++x) {
      ASSERT_NEAR(tree.q(0)[x], std::exp(law[x] / 0.7) / total, 1e-5);
    }
  }
  double total = 0;
  for (const float l : law) total += std::exp(l / 0.7);
  for (std::size_t x = 0; x < law.size(); ++x) {
    const double p = std::exp(law[x] / 0.7) / total;
    EXPECT_NEAR(counts[x], p * runs, 5 * std::sqrt(p * runs) + 5) << "token " << x;
  }
}

/// A tokenizer with given tokens.
class ListTokenizer final : public Tokenizer {
 public:
  explicit ListTokenizer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}
  std::vector<TokenId> encode(std::string_view, std::span<const ByteRange>) const override { return {}; }
  std::string token_bytes(TokenId id) const override { return tokens_.at(static_cast<std::size_t>(id)); }
  bool is_special(TokenId) const override { return false; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(tokens_.size()); }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }

 private:
  std::vector<std::string> tokens_;
};

std::string refusal(const std::vector<std::string>& target, const std::vector<std::string>& draft) {
  try {
    require_same_vocabulary(ListTokenizer(target), "big", ListTokenizer(draft), "small");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(RequireSameVocabulary, NamesBothModelsAndTheDifference) {
  EXPECT_EQ(refusal({"a", "b"}, {"a", "b"}), "");
  const std::string size = refusal({"a", "b"}, {"a"});
  EXPECT_THAT(size, HasSubstr("big"));
  EXPECT_THAT(size, HasSubstr("small"));
  EXPECT_THAT(size, HasSubstr("1 tokens, expected 2"));
  EXPECT_THAT(refusal({"a", "b"}, {"a", "c"}), HasSubstr("token 1 is 'c', expected 'b'"));
}

TEST(DrafterTypes, AreFoundByNameAndAlias) {
  EXPECT_EQ(find_drafter_type("ngram").name, "ngram");
  EXPECT_EQ(find_drafter_type("draft-simple").name, "draft");
  try {
    find_drafter_type("crystal-ball");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'crystal-ball'"));
    EXPECT_THAT(error.what(), HasSubstr("ngram"));
  }
}

}  // namespace
}  // namespace augur
