#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "draft/lookup/suffix_trie.h"
#include "draft/suffix_drafter.h"

namespace augur {
namespace {

using testing::ElementsAre;

using Text = std::vector<TokenId>;

int occurrences(const Text& text, const Text& part) {
  int count = 0;
  for (std::size_t i = 0; i + part.size() <= text.size(); ++i) {
    count += std::equal(part.begin(), part.end(), text.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return count;
}

TEST(SuffixTrie, CountsAsAScanOfTheWholeTextDoes) {
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    const int depth = 2 + static_cast<int>(random() % 6);
    const unsigned alphabet = 2 + random() % 6;
    SuffixTrie trie(depth);
    auto suffixes = trie.no_text();
    Text text;
    for (int i = 0; i < 60; ++i) {
      text.push_back(static_cast<TokenId>(random() % alphabet));
      trie.insert(suffixes, text.back());
      for (int length = 1; length < depth; ++length) {
        const std::int32_t node = suffixes[static_cast<std::size_t>(length)];
        if (length > i + 1) {
          ASSERT_EQ(node, SuffixTrie::kNone);
          continue;
        }
        const Text suffix(text.end() - length, text.end());
        ASSERT_EQ(trie.count(node), occurrences(text, suffix));
        for (TokenId x = 0; x < static_cast<TokenId>(alphabet); ++x) {
          Text longer = suffix;
          longer.push_back(x);
          const std::int32_t child = trie.find_child(node, x);
          ASSERT_EQ(child == SuffixTrie::kNone ? 0 : trie.count(child), occurrences(text, longer));
        }
      }
    }
    // Following the same text afterwards ends at the same nodes.
    auto again = trie.no_text();
    for (const TokenId token : text) trie.follow(again, token);
    ASSERT_EQ(again, suffixes);
  }
}

TEST(SuffixMemory, StaysBoundedAndForgetsTheOldest) {
  SuffixMemory memory(4, 200);
  SuffixView view(memory);
  Text text;
  for (int i = 0; i < 5000; ++i) {
    text.push_back(i / 3 % 1000);
    view.advance(text, true);
    ASSERT_LE(memory.tries()[0].size() + memory.tries()[1].size(), 400u);
    // What was just seen is known, in one of the two.
    const bool known = view.suffixes(0)[1] != SuffixTrie::kNone || view.suffixes(1)[1] != SuffixTrie::kNone;
    ASSERT_TRUE(known);
  }
  const auto knows = [&](TokenId token) {
    return memory.tries()[0].find_child(0, token) != SuffixTrie::kNone ||
           memory.tries()[1].find_child(0, token) != SuffixTrie::kNone;
  };
  EXPECT_TRUE(knows(text.back()));
  EXPECT_FALSE(knows(text.back() - 300));
}

struct Drafting {
  explicit Drafting(std::shared_ptr<SuffixMemory> earlier, const SuffixDrafter::Options& options = {})
      : drafter(std::move(earlier), nullptr, options) {}
  void say(const Text& tokens) {
    drafter.sync({.tokens = std::span(tokens).first(tokens.size() - 1),
                  .first_position = size,
                  .next = tokens.back()});
    size += std::ssize(tokens) - 1;
  }
  DraftTree draft(int nodes, bool branching) {
    DraftTree tree;
    tree.reset(0, size);
    drafter.expand(tree, std::vector<std::int32_t>{0},
                   {.top_k = nodes, .max_nodes = nodes, .branching = branching});
    return tree;
  }
  SuffixDrafter drafter;
  std::int64_t size = 0;
};

Text first_branch(const DraftTree& tree) {
  Text tokens;
  for (auto n = tree.first_child(0); n >= 0; n = tree.first_child(n)) {
    tokens.push_back(tree.tokens()[static_cast<std::size_t>(n)]);
  }
  return tokens;
}

TEST(SuffixDrafter, ProposesTheMostFrequentContinuationFirst) {
  const auto earlier = std::make_shared<SuffixMemory>(32, 1 << 16);
  Drafting d(earlier);
  // "1 2" went on with 3 twice and with 4 once.
  d.say({1, 2, 3, 50, 1, 2, 4, 51, 1, 2, 3, 52, 1, 2});
  const DraftTree tree = d.draft(8, true);
  EXPECT_EQ(tree.tokens()[1], 3);
  EXPECT_NEAR(std::exp(tree.log_probs()[1]), 2.0 / 3 * 0.5, 1e-6);
  const std::int32_t other = tree.find_child(0, 4);
  ASSERT_GT(other, 0);
  EXPECT_NEAR(std::exp(tree.log_probs()[static_cast<std::size_t>(other)]), 1.0 / 3 * 0.5, 1e-6);
  EXPECT_LE(tree.size(), 9) << "four tokens for each of the match";
  EXPECT_EQ(d.draft(3, false).size(), 4);
  EXPECT_EQ(d.draft(3, false).max_depth(), 3);
}

TEST(SuffixDrafter, LongMatchesDraftMore) {
  const auto earlier = std::make_shared<SuffixMemory>(32, 1 << 16);
  Drafting d(earlier);
  Text text;
  for (TokenId t = 10; t < 30; ++t) text.push_back(t);
  text.insert(text.end(), {99, 14});
  d.say(text);
  EXPECT_THAT(first_branch(d.draft(100, false)), ElementsAre(15, 16, 17, 18)) << "one token matches";
  d.say({14, 15, 16});
  EXPECT_EQ(first_branch(d.draft(100, false)).size(), 12u);
}

TEST(SuffixDrafter, IsSilentWithoutAMatch) {
  const auto earlier = std::make_shared<SuffixMemory>(32, 1 << 16);
  Drafting d(earlier);
  EXPECT_TRUE(d.draft(8, true).only_root());
  d.say({1, 2, 3, 4});
  EXPECT_TRUE(d.draft(8, true).only_root());
}

TEST(SuffixDrafter, LearnsFromOutputsOfEarlierSequencesButNotFromTheirPrompts) {
  const auto earlier = std::make_shared<SuffixMemory>(32, 1 << 16);
  {
    Drafting d(earlier);
    d.say({70, 71, 72, 73});
    d.draft(4, true);  // drafting begins: what follows is output
    d.say({73, 80, 81, 82, 83});
  }
  Drafting d(earlier);
  d.say({5, 80, 81});
  EXPECT_THAT(first_branch(d.draft(2, false)), ElementsAre(82, 83));
  d.say({81, 70, 71});
  EXPECT_TRUE(d.draft(2, false).only_root());
}

TEST(SuffixDrafter, ForgetsItsTextOnReset) {
  const auto earlier = std::make_shared<SuffixMemory>(32, 1 << 16);
  Drafting d(earlier);
  d.say({1, 2, 3, 1, 2});
  EXPECT_FALSE(d.draft(4, true).only_root());
  d.drafter.reset();
  d.size = 0;
  d.say({1, 2});
  // Nothing was generated before the first reset but the prompt's last token.
  EXPECT_TRUE(d.draft(4, true).only_root());
}

}  // namespace
}  // namespace augur
