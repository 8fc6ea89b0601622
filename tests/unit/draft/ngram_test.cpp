#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "draft/common/copy_odds.h"
#include "draft/lookup/ngram_index.h"
#include "draft/ngram_drafter.h"

namespace augur {
namespace {

using testing::ElementsAre;

/// The definition, by scanning everything.
NgramIndex::Match reference(const std::vector<TokenId>& text, int min, int max) {
  const int size = static_cast<int>(text.size());
  for (int n = std::min(max, size - 1); n >= min; --n) {
    for (int next = size - 1; next >= n; --next) {
      if (!std::equal(text.end() - n, text.end(), text.begin() + (next - n))) continue;
      int agreed = n;  // the match found by n tokens may be longer
      while (agreed < kLongestMatch && agreed < next &&
             text[static_cast<std::size_t>(next - agreed - 1)] ==
                 text[text.size() - 1 - static_cast<std::size_t>(agreed)]) {
        ++agreed;
      }
      return {next, agreed};
    }
  }
  return {};
}

TEST(NgramIndex, EqualsAScanOfTheWholeText) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const int min = 1 + static_cast<int>(random() % 3);
    const int max = min + static_cast<int>(random() % 4);
    const unsigned alphabet = 2 + random() % 30;
    NgramIndex index(min, max);
    std::vector<TokenId> text;
    for (int i = 0; i < 400; ++i) {
      const auto token = static_cast<TokenId>(random() % alphabet);
      text.push_back(token);
      index.append(token);
      const auto expected = reference(text, min, max);
      const auto found = index.find();
      ASSERT_EQ(found.length, expected.length) << "round " << round << ", token " << i;
      ASSERT_EQ(found.next, expected.next);
    }
    index.clear();
    ASSERT_EQ(index.find().length, 0);
  }
}

TEST(NgramIndex, RefusesImpossibleLengths) {
  EXPECT_THROW(NgramIndex(0, 3), Error);
  EXPECT_THROW(NgramIndex(3, 2), Error);
}

std::vector<TokenId> branch(const DraftTree& tree) {
  std::vector<TokenId> tokens;
  for (auto n = tree.first_child(0); n >= 0; n = tree.first_child(n)) {
    tokens.push_back(tree.tokens()[static_cast<std::size_t>(n)]);
  }
  return tokens;
}

std::vector<TokenId> draft(NgramDrafter& drafter, TokenId root, int count) {
  DraftTree tree;
  tree.reset(root, 0);
  const std::int32_t frontier[] = {0};
  drafter.expand(tree, frontier, {.top_k = count, .max_nodes = count});
  return branch(tree);
}

TEST(NgramDrafter, CopiesWhatFollowedTheLongestSuffix) {
  NgramDrafter drafter(1, 3);
  const std::vector<TokenId> text{1, 2, 3, 4, 5, 9, 3, 8, 1, 2};
  drafter.sync({.tokens = text, .first_position = 0, .next = 3});
  EXPECT_THAT(draft(drafter, 3, 2), ElementsAre(4, 5)) << "1 2 3 beats the later 3";
  // Accepted: the root and one draft; the next root is another token.
  const std::vector<TokenId> accepted{3, 4};
  drafter.sync({.tokens = accepted, .first_position = 10, .next = 9});
  EXPECT_THAT(draft(drafter, 9, 3), ElementsAre(3, 8, 1));
}

TEST(NgramDrafter, ContinuesARepetitionBeyondItsEnd) {
  NgramDrafter drafter(1, 3);
  const std::vector<TokenId> text{5, 6, 5};
  drafter.sync({.tokens = text, .first_position = 0, .next = 6});
  EXPECT_THAT(draft(drafter, 6, 7), ElementsAre(5, 6, 5, 6, 5, 6, 5));
}

TEST(NgramDrafter, IsSilentWithoutAMatchAndAfterReset) {
  NgramDrafter drafter(2, 3);
  EXPECT_TRUE(draft(drafter, 1, 4).empty()) << "nothing synced yet";
  const std::vector<TokenId> text{1, 2, 1};
  drafter.sync({.tokens = text, .first_position = 0, .next = 2});
  EXPECT_FALSE(draft(drafter, 2, 4).empty());
  drafter.reset();
  EXPECT_TRUE(draft(drafter, 2, 4).empty());
}

TEST(NgramDrafter, TakesThePromptInChunks) {
  NgramDrafter whole(1, 3);
  NgramDrafter chunked(1, 3);
  const std::vector<TokenId> text{1, 2, 3, 1, 2, 4, 1};
  const std::span<const TokenId> all(text);
  whole.sync({.tokens = all, .first_position = 0, .next = 2});
  chunked.sync({.tokens = all.first(3), .first_position = 0, .next = text[3]});
  chunked.sync({.tokens = all.subspan(3), .first_position = 3, .next = 2});
  EXPECT_EQ(draft(whole, 2, 4), draft(chunked, 2, 4));
  EXPECT_THAT(draft(whole, 2, 1), ElementsAre(4));
}

}  // namespace
}  // namespace augur
