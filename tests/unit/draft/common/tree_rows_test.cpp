#include "draft/common/tree_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_cache.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::small_cache;

class TreeRowsTest : public testing::Test {
 protected:
  TreeRowsTest() {
    KvTxn text = cache_.reserve(10);
    text.commit_all();
    tree_.reset(100, 10);
  }
  std::int32_t add(std::int32_t parent, TokenId token) { return tree_.add(parent, token, -1.0f, 1); }
  int add_level(TreeRows& rows, std::vector<std::int32_t> nodes) {
    batch_.clear();
    return rows.add_level(cache_, tree_, nodes, batch_);
  }

  KvCache cache_ = small_cache(14);
  DraftTree tree_;
  RowBatch batch_;
};

TEST_F(TreeRowsTest, LevelsFollowTheirParents) {
  TreeRows rows(100);
  const std::int32_t a = add(0, 1), b = add(0, 2), c = add(b, 3);
  EXPECT_EQ(rows.row_of(a), -1);
  // The root's row is text: its children follow the cache's.
  ASSERT_EQ(add_level(rows, {a, b}), 2);
  EXPECT_THAT(batch_.view().tokens, ElementsAre(1, 2));
  EXPECT_THAT(batch_.view().positions, ElementsAre(10, 10));
  EXPECT_THAT(batch_.view().parents, ElementsAre(-1, -1));
  EXPECT_EQ(batch_.view().sequences[0].earlier_rows, 0);
  EXPECT_EQ(rows.batch_row(b), 1);

  ASSERT_EQ(add_level(rows, {c}), 1);
  EXPECT_THAT(batch_.view().positions, ElementsAre(11));
  EXPECT_THAT(batch_.view().parents, ElementsAre(-2 - 1)) << "row 1 of the transaction";
  ASSERT_EQ(batch_.view().sequences.size(), 1u);
  const TokenBatch::Sequence& sequence = batch_.view().sequences[0];
  EXPECT_EQ(sequence.earlier_rows, 2);
  EXPECT_THAT(std::span(sequence.earlier_parents, 2), ElementsAre(-1, -1));
  EXPECT_EQ(rows.batch_row(c), 0);
  EXPECT_EQ(rows.batch_row(b), -1) << "of an earlier level";
  EXPECT_EQ(rows.row_of(b), 1);
  EXPECT_THAT(rows.tokens(), ElementsAre(1, 2, 3));
  EXPECT_THAT(rows.parents(), ElementsAre(-1, -1, 1));

  rows.clear();
  EXPECT_EQ(rows.row_of(b), -1);
  EXPECT_EQ(cache_.length(), 10);
  EXPECT_EQ(cache_.reserve(1).rows(), 1) << "the transaction is closed";
}

TEST_F(TreeRowsTest, TheRootMayBeARowToo) {
  TreeRows rows(100);
  const std::int32_t a = add(0, 1);
  ASSERT_EQ(add_level(rows, {0}), 1);
  EXPECT_THAT(batch_.view().tokens, ElementsAre(100));
  EXPECT_THAT(batch_.view().positions, ElementsAre(10));
  ASSERT_EQ(add_level(rows, {a}), 1);
  EXPECT_THAT(batch_.view().positions, ElementsAre(11));
  EXPECT_THAT(batch_.view().parents, ElementsAre(-2));
}

TEST_F(TreeRowsTest, LeavesOutWhatItCannotRun) {
  TreeRows rows(100);
  const std::int32_t a = add(0, 1), b = add(0, 2), below_b = add(b, 3);
  ASSERT_EQ(add_level(rows, {a}), 1);
  EXPECT_EQ(add_level(rows, {a}), 0) << "has run";
  EXPECT_EQ(add_level(rows, {below_b}), 0) << "its parent has not";
  EXPECT_THAT(batch_.view().sequences, IsEmpty());
  std::vector<std::int32_t> many;
  for (TokenId token = 10; token < 20; ++token) many.push_back(add(a, token));
  EXPECT_EQ(add_level(rows, many), 3) << "the cache is full";
  EXPECT_EQ(rows.row_of(many[2]), 3);
  EXPECT_EQ(rows.row_of(many[3]), -1);

  TreeRows few(2);
  rows.clear();
  EXPECT_EQ(add_level(few, {a, b}), 2);
  EXPECT_EQ(add_level(few, {below_b}), 0) << "no more than it was told to take";
}

TEST_F(TreeRowsTest, TheTransactionCanBeTakenAlong) {
  TreeRows rows(100);
  const std::int32_t a = add(0, 1), b = add(a, 2);
  EXPECT_FALSE(rows.take_transaction());
  add_level(rows, {a});
  add_level(rows, {b});
  std::optional<KvTxn> txn = rows.take_transaction();
  ASSERT_TRUE(txn);
  EXPECT_EQ(txn->rows(), 4);
  rows.roll_back();
  EXPECT_THAT(rows.tokens(), ElementsAre(1, 2)) << "until the next round";
  txn->commit_prefix(2);
  EXPECT_EQ(cache_.length(), 12);
  EXPECT_FALSE(rows.take_transaction());
}

}  // namespace
}  // namespace augur
