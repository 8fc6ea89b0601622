#include "kernels/weight_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/packed_matrix.h"

namespace augur {
namespace {

TEST(WeightArena, HandsOutDisjointZeroedPages) {
  std::vector<std::shared_ptr<std::byte>> parts;
  {
    WeightArena arena;
    for (int i = 0; i < 10; ++i) parts.push_back(arena.take(5000));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parts[i].get()) % 4096, 0u);
    for (int j = 0; j < 5000; ++j) ASSERT_EQ(parts[i].get()[j], std::byte{0});
    std::memset(parts[i].get(), static_cast<int>(i) + 1, 5000);
  }
  EXPECT_EQ(parts[3].get()[4999], std::byte{4});
}

TEST(WeightArena, GoesOnInANewAreaWhenOneIsFull) {
  WeightArena arena;
  const auto small = arena.take(100);
  const auto large = arena.take(std::size_t{1} << 30);  // leaves no room behind the first
  const auto next = arena.take(100);
  large.get()[(std::size_t{1} << 30) - 1] = std::byte{7};
  small.get()[99] = std::byte{1};
  EXPECT_EQ(next.get()[0], std::byte{0});
}

TEST(WeightArena, MatricesOutliveIt) {
  PackedMatrix first;
  PackedMatrix second;
  {
    WeightArena arena;
    first = PackedMatrix(DType::F32, 3, 2, arena);
    second = PackedMatrix(DType::BF16, 3, 2, arena);
  }
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  first.set_rows(0, values);
  float row[2];
  second.get_row(2, row);
  EXPECT_EQ(row[0], 0.0f);
  first.get_row(2, row);
  EXPECT_EQ(row[1], 6.0f);
}

}  // namespace
}  // namespace augur
