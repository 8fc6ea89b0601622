#include "draft/lookup/earlier_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace augur {
namespace {

constexpr int kDepth = 8;

std::vector<TokenId> text(TokenId first, int tokens) {
  std::vector<TokenId> out(static_cast<std::size_t>(tokens));
  std::iota(out.begin(), out.end(), first);
  return out;
}

bool knows(const SuffixMemory& memory, TokenId token) {
  return memory.tries()[0].find_child(0, token) != SuffixTrie::kNone ||
         memory.tries()[1].find_child(0, token) != SuffixTrie::kNone;
}

TEST(EarlierOutputs, AreEachOwnersOwn) {
  EarlierOutputs earlier(kDepth);
  earlier.of("a")->insert(text(10, 5));
  EXPECT_TRUE(knows(*earlier.of("a"), 12));
  EXPECT_FALSE(knows(*earlier.of("b"), 12));
  EXPECT_FALSE(knows(*earlier.of(""), 12));
  earlier.clear();
  EXPECT_FALSE(knows(*earlier.of("a"), 12));
}

TEST(EarlierOutputs, TheOldestGoFirstWhenTheyAreMoreThanTheyMayBe) {
  EarlierOutputs earlier(kDepth);
  earlier.of("a")->insert(text(10, 400));
  earlier.of("b")->insert(text(10, 400));
  const std::int64_t one = earlier.bytes() / 2;
  EXPECT_GT(one, 400 * kDepth * 20);
  earlier.of("a");
  earlier.limit(one + one / 2);
  EXPECT_EQ(earlier.bytes(), one);
  EXPECT_TRUE(knows(*earlier.of("a"), 12));
  EXPECT_FALSE(knows(*earlier.of("b"), 12));
  EXPECT_TRUE(earlier.drop_oldest());
  EXPECT_FALSE(earlier.drop_oldest());
  EXPECT_EQ(earlier.bytes(), 0);
}

TEST(EarlierOutputs, StayWithinTheirBytesWhoeverWrites) {
  for (const std::int64_t most : {0, 1 << 10, 1 << 18, 1 << 20}) {
    EarlierOutputs earlier(kDepth, most);
    for (int i = 0; i < 2000; ++i) {
      earlier.of(std::to_string(i % 7))->insert(text(i, 50));
      earlier.limit(most);
      ASSERT_LE(earlier.bytes(), most);
    }
    // One owner alone forgets its older outputs, not all of them.
    const auto own = earlier.of("own");
    for (int i = 0; i < 2000; ++i) {
      own->insert(text(50 * i, 50));
      earlier.limit(most);
      ASSERT_LE(earlier.bytes(), most);
      if (most >= 1 << 18) {
        ASSERT_TRUE(knows(*own, 50 * i + 49)) << i;
      }
    }
  }
}

TEST(EarlierOutputs, OwnersAreBoundedButForThoseInHand) {
  EarlierOutputs earlier(kDepth);
  const auto held = earlier.of("held");
  held->insert(text(1, 20));
  for (int i = 0; i < 3000; ++i) {
    earlier.of(std::to_string(i))->insert(text(1, 3));
    ASSERT_LE(earlier.owners(), EarlierOutputs::kMostOwners + 1);
  }
  EXPECT_EQ(earlier.of("held"), held);
  EXPECT_TRUE(knows(*held, 7));
}

/// Whoever follows a text in what is forgotten goes on, and leaves what it has written.
TEST(EarlierOutputs, AViewOutlivesWhatItLooksAt) {
  EarlierOutputs earlier(kDepth);
  const auto own = earlier.of("a");
  own->insert(text(1, 20));
  SuffixView view(*own);
  const std::vector<TokenId> all = text(1, 20);
  view.advance(std::span(all).first(1), false);
  EXPECT_NE(view.suffixes(0)[1], SuffixTrie::kNone);
  EXPECT_TRUE(earlier.drop_oldest());
  view.refresh(std::span(all).first(1));
  EXPECT_EQ(view.suffixes(0)[1], SuffixTrie::kNone);
  own->insert(text(1, 20));
  EXPECT_TRUE(knows(*earlier.of("a"), 7));
}

}  // namespace
}  // namespace augur
