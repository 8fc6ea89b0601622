#include "model/rotary_order.h"

#include <gtest/gtest.h>

#include <set>

#include "model/families.h"

namespace augur {
namespace {

std::vector<std::int64_t> order_of(const RotaryOrder& order, std::int64_t rows) {
  std::vector<std::int64_t> stored;
  for (std::int64_t row = 0; row < rows; ++row) stored.push_back(order.stored(row));
  return stored;
}

TEST(RotaryOrder, TakesNeighboursApart) {
  EXPECT_EQ(order_of({.head_dim = 8, .dims = 6}, 16),
            (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5, 6, 7, 8, 10, 12, 9, 11, 13, 14, 15}));
  EXPECT_EQ(order_of({.head_dim = 4, .dims = 4}, 4), (std::vector<std::int64_t>{0, 2, 1, 3}));
  EXPECT_EQ(order_of({}, 3), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(RotaryOrder, HasEveryRowOnce) {
  for (const int head_dim : {2, 6, 64, 128}) {
    for (int dims = 2; dims <= head_dim; dims += 2) {
      const auto stored = order_of({.head_dim = head_dim, .dims = dims}, 3 * head_dim);
      EXPECT_EQ(std::set<std::int64_t>(stored.begin(), stored.end()).size(), stored.size());
    }
  }
}

TEST(RotaryOrder, FollowsTheFamilyAndItsRotation) {
  ModelConfig config;
  config.head_dim = 16;
  for (const Family& family : families()) {
    config.family = family.name;
    const bool neighbours = family.name == "glm" || family.name == "glm4" || family.name == "ernie4_5";
    config.kinds[0].rope.dims = 0;
    EXPECT_EQ(rotary_order(config).dims, neighbours ? 16 : 0) << family.name;
    config.kinds[0].rope.dims = 8;
    EXPECT_EQ(rotary_order(config).dims, neighbours ? 8 : 0) << family.name;
  }
}

/// Rows of two values: the stored row, and that and a half.
TEST(RotaryOrder, ReadersGiveTheEnginesRows) {
  const RotaryOrder order{.head_dim = 4, .dims = 4};
  const RowReader rows = in_rotary_order(
      [](std::int64_t first, std::int64_t count, float* out) {
        for (std::int64_t i = 0; i < count; ++i) {
          out[2 * i] = static_cast<float>(first + i);
          out[2 * i + 1] = static_cast<float>(first + i) + 0.5f;
        }
      },
      order, 2);
  std::vector<float> values(6);
  rows(1, 3, values.data());
  EXPECT_EQ(values, (std::vector<float>{2, 2.5f, 1, 1.5f, 3, 3.5f}));

  std::vector<std::byte> file(8);
  for (std::size_t i = 0; i < file.size(); ++i) file[i] = static_cast<std::byte>(i);
  const StoredRows stored =
      in_rotary_order({DType::Q8_0,
                       [&](std::int64_t row, std::vector<std::byte>&) {
                         return std::span<const std::byte>(file).subspan(static_cast<std::size_t>(row), 1);
                       }},
                      order);
  std::vector<std::byte> scratch;
  EXPECT_EQ(stored.type, DType::Q8_0);
  EXPECT_EQ(stored.row(1, scratch)[0], std::byte{2});
  EXPECT_EQ(stored.row(6, scratch)[0], std::byte{5});
}

}  // namespace
}  // namespace augur
