#include "draft/common/shared_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace augur {
namespace {

using testing::Each;

void append(SharedRows& rows, int count, float value) {
  for (int i = 0; i < count; ++i) std::fill_n(rows.append(), rows.width(), value);
}

std::vector<float> all_of(const SharedRows& rows) {
  std::vector<float> values;
  rows.copy_first(rows.rows(), values);
  return values;
}

TEST(SharedRows, AreCountedOnceByTheirPool) {
  const auto pool = std::make_shared<RowPool>(3);
  EXPECT_EQ(pool->block_bytes(), 64 * 3 * 4);
  SharedRows rows(pool);
  EXPECT_EQ(pool->bytes_in_use(), 0);
  append(rows, 65, 1);
  EXPECT_EQ(pool->bytes_in_use(), 2 * pool->block_bytes());
  {
    SharedRows copy = rows;
    EXPECT_EQ(pool->bytes_in_use(), 2 * pool->block_bytes());
    append(copy, 1, 2);
    EXPECT_EQ(pool->bytes_in_use(), 3 * pool->block_bytes()) << "the last block is the copy's own";
    EXPECT_THAT(all_of(rows), Each(1));
  }
  EXPECT_EQ(pool->bytes_in_use(), 2 * pool->block_bytes());
  rows = SharedRows(pool);
  EXPECT_EQ(pool->bytes_in_use(), 0);
}

TEST(SharedRows, ThatComeAndGoKeepABlockAndCopiesDoNot) {
  const auto pool = std::make_shared<RowPool>(3);
  SharedRows rows(pool);
  append(rows, 1, 1);
  rows.clear();
  EXPECT_EQ(pool->bytes_in_use(), pool->block_bytes());
  append(rows, 64, 1);
  EXPECT_EQ(pool->bytes_in_use(), pool->block_bytes());
  rows.drop_first(64);
  const SharedRows copy = rows;
  rows = SharedRows(pool);
  EXPECT_EQ(pool->bytes_in_use(), 0);
}

TEST(SharedRows, WithoutAPoolAreNumbersOnly) {
  SharedRows rows;
  EXPECT_EQ(rows.append(), nullptr);
  rows.append();
  rows.append();
  rows.drop_first(1);
  rows.truncate(1);
  EXPECT_EQ(rows.rows(), 1);
  EXPECT_TRUE(all_of(rows).empty());
}

}  // namespace
}  // namespace augur
