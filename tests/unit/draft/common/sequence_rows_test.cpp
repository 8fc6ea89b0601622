#include "draft/common/sequence_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "draft/common/accepted_tokens.h"
#include "small_cache.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::small_cache;

/// Rows of two features: the token and its negative.
void append(SequenceRows& text, std::initializer_list<TokenId> tokens) {
  for (const TokenId token : tokens) {
    float* features = text.append(token);
    features[0] = static_cast<float>(token);
    features[1] = static_cast<float>(-token);
  }
}

std::shared_ptr<RowPool> pairs() {
  return std::make_shared<RowPool>(2);
}

std::vector<float> features(const SequenceRows& text, std::int64_t count) {
  std::vector<float> first;
  text.copy_features(count, first);
  return first;
}

TEST(SequenceRows, WaitUntilAForwardTakesThemAlong) {
  SequenceRows text(small_cache(100), pairs());
  append(text, {7, 8, 9});
  EXPECT_EQ(text.length(), 3);
  EXPECT_EQ(text.waiting(), 3);
  EXPECT_EQ(text.cache().length(), 0);
  RowBatch batch;
  batch.add_row(1, 50, -1);  // another sequence's
  EXPECT_EQ(text.begin(batch, 2), 1);
  EXPECT_EQ(text.in_flight(), 2);
  EXPECT_THAT(features(text, 2), ElementsAre(7, -7, 8, -8));
  const TokenBatch view = batch.view();
  EXPECT_THAT(view.tokens, ElementsAre(1, 7, 8));
  EXPECT_THAT(view.positions, ElementsAre(50, 0, 1));
  EXPECT_THAT(view.parents, ElementsAre(-1, -1, 1));
  ASSERT_EQ(view.sequences.size(), 1u);
  EXPECT_EQ(view.sequences[0].first_row, 1);
  EXPECT_EQ(view.sequences[0].rows, 2);
  text.commit();
  EXPECT_EQ(text.length(), 3);
  EXPECT_EQ(text.cache().length(), 2);
  EXPECT_THAT(features(text, 1), ElementsAre(9, -9));

  batch.clear();
  EXPECT_EQ(text.begin(batch, 1), 0);
  EXPECT_THAT(batch.view().positions, ElementsAre(2)) << "behind what is kept";
}

TEST(SequenceRows, FillersAreNotKept) {
  SequenceRows text(small_cache(4));
  text.append(5);
  text.append(6);
  RowBatch batch;
  text.begin(batch, 2, 2, 99);
  EXPECT_THAT(batch.view().tokens, ElementsAre(5, 6, 99, 99));
  EXPECT_THAT(batch.view().parents, ElementsAre(-1, 0, 1, 2));
  EXPECT_EQ(batch.view().sequences[0].rows, 4);
  text.commit();
  EXPECT_EQ(text.cache().length(), 2);
  EXPECT_EQ(text.waiting(), 0);
}

TEST(SequenceRows, GoOnWaitingAfterAForwardThatFailed) {
  SequenceRows text(small_cache(100), pairs());
  append(text, {7, 8});
  RowBatch batch;
  text.begin(batch, 2);
  text.roll_back();
  EXPECT_EQ(text.in_flight(), 0);
  EXPECT_EQ(text.waiting(), 2);
  EXPECT_EQ(text.cache().length(), 0);
  batch.clear();
  text.begin(batch, 2);
  text.commit();
  EXPECT_EQ(text.cache().length(), 2);
}

TEST(SequenceRows, TheNewestCanBeRunOnceMore) {
  SequenceRows text(small_cache(100), pairs());
  append(text, {7, 8});
  RowBatch batch;
  text.begin(batch, 2);
  text.commit();
  text.rewind();
  EXPECT_EQ(text.length(), 2);
  EXPECT_EQ(text.waiting(), 1);
  EXPECT_THAT(features(text, 1), ElementsAre(8, -8));
  batch.clear();
  text.begin(batch, 1);
  EXPECT_THAT(batch.view().tokens, ElementsAre(8));
  EXPECT_THAT(batch.view().positions, ElementsAre(1));
}

TEST(SequenceRows, ALongPromptHasChunksAsLongAsTheyFit) {
  SequenceRows text(small_cache(SequenceRows::kChunk + 10));
  for (std::int64_t i = 0; i < SequenceRows::kChunk; ++i) text.append(0);
  EXPECT_FALSE(text.has_chunk()) << "the round's forward can take these";
  text.append(0);
  ASSERT_TRUE(text.has_chunk());
  RowBatch batch;
  text.begin(batch, SequenceRows::kChunk);
  text.commit();
  for (std::int64_t i = 0; i < SequenceRows::kChunk; ++i) text.append(0);
  EXPECT_FALSE(text.has_chunk()) << "there is no room";
  batch.clear();
  EXPECT_THROW(text.begin(batch, text.waiting()), Error);
  EXPECT_EQ(text.in_flight(), 0);
  text.reset();
  EXPECT_EQ(text.length(), 0);
}

TEST(SequenceRows, KeptTextsShareTheFeaturesThatWait) {
  const KvCache form = small_cache(400);  // of one pool, as the texts of an engine are
  const std::shared_ptr<RowPool> pool = pairs();
  SequenceRows text(form, pool);
  for (TokenId token = 0; token < 100; ++token) append(text, {token});
  const SequenceRows::Kept kept = text.keep(100);
  SequenceRows other(form, pool);
  other.resume(kept, 70);
  append(text, {100});
  append(other, {200});
  EXPECT_EQ(other.waiting(), 71);
  const std::vector<float> own = features(text, 101);
  const std::vector<float> others = features(other, 71);
  EXPECT_TRUE(std::equal(own.begin(), own.begin() + 140, others.begin()));
  EXPECT_THAT(std::span(own).last(4), ElementsAre(99, -99, 100, -100)) << "the other's row is its own";
  EXPECT_THAT(std::span(others).last(4), ElementsAre(69, -69, 200, -200));
  std::vector<const std::byte*> blocks;
  const SequenceRows::Kept beginning = text.keep(64);
  for (const SequenceRows::Kept* known : {&kept, &beginning}) {
    known->features.for_blocks([&](const std::byte* block, std::int64_t) { blocks.push_back(block); });
  }
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0], blocks[2]);
}

TEST(AcceptedTokens, OnlyWhatIsNewIsAppended) {
  std::vector<TokenId> text;
  const auto take = [&](std::vector<TokenId> tokens, std::int64_t first, TokenId next) {
    append_accepted({.tokens = tokens, .first_position = first, .next = next}, std::ssize(text),
                    [&](TokenId token) { text.push_back(token); });
  };
  take({1, 2}, 0, 3);
  EXPECT_THAT(text, ElementsAre(1, 2, 3));
  take({3}, 2, 4);
  EXPECT_THAT(text, ElementsAre(1, 2, 3, 4)) << "the last call's next is this call's first";
  take({3, 4}, 2, 5);
  EXPECT_THAT(text, ElementsAre(1, 2, 3, 4, 5)) << "told again, and more";
  take({2}, 1, 3);
  EXPECT_THAT(text, ElementsAre(1, 2, 3, 4, 5)) << "nothing new";

  const std::vector<TokenId> tokens{10, 11, 12};
  const AcceptedRows rows{.tokens = tokens, .first_position = 5, .next = 13};
  EXPECT_EQ(known_rows(rows, 5), 0u);
  EXPECT_EQ(known_rows(rows, 7), 2u);
  EXPECT_EQ(known_rows(rows, 100), 3u);
}

}  // namespace
}  // namespace augur
