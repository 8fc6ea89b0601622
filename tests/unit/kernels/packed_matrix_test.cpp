#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace augur {
namespace {

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 3.0f;
  return values;
}

TEST(PackedMatrix, GivesBackRowsAsStored) {
  for (const DType type : {DType::F32, DType::BF16}) {
    const std::int64_t n = 21;
    const std::int64_t k = 37;
    PackedMatrix matrix(type, n, k);
    const std::vector<float> values = ramp(n * k);
    // In two pieces, to cover a first row that is not zero.
    matrix.set_rows(0, std::span(values).first(static_cast<std::size_t>(5 * k)));
    matrix.set_rows(5, std::span(values).subspan(static_cast<std::size_t>(5 * k)));
    std::vector<float> row(static_cast<std::size_t>(k));
    for (std::int64_t r = 0; r < n; ++r) {
      matrix.get_row(r, row.data());
      for (std::int64_t i = 0; i < k; ++i) {
        const float value = values[static_cast<std::size_t>(r * k + i)];
        const float expected = type == DType::BF16 ? to_float(to_bf16(value)) : value;
        EXPECT_EQ(row[static_cast<std::size_t>(i)], expected) << "row " << r << " column " << i;
      }
    }
  }
}

TEST(PackedMatrix, LayoutIsPanelsOf16ColumnsPaddedWithZeros) {
  PackedMatrix matrix(DType::BF16, 17, 33);
  EXPECT_EQ(matrix.padded_k(), 64);
  EXPECT_EQ(matrix.panels(), 2);
  EXPECT_EQ(matrix.panel_bytes(), 64 * 16 * 2);
  EXPECT_EQ(matrix.bytes(), 2 * 64 * 16 * 2);
  matrix.set_rows(0, std::vector<float>(17 * 33, 1.0f));
  const auto* data = reinterpret_cast<const BF16*>(matrix.panel(0));
  for (std::int64_t panel = 0; panel < 2; ++panel) {
    for (std::int64_t k = 0; k < 64; ++k) {
      for (std::int64_t column = 0; column < 16; ++column) {
        const bool inside = k < 33 && panel * 16 + column < 17;
        const BF16 value = data[panel * 64 * 16 + (k / 2) * 32 + column * 2 + k % 2];
        ASSERT_EQ(to_float(value), inside ? 1.0f : 0.0f) << panel << " " << k << " " << column;
      }
    }
  }
}

TEST(PackedMatrix, RefusesWhatItCannotHold) {
  EXPECT_THROW(PackedMatrix(DType::F16, 16, 16), Error);
  EXPECT_THROW(PackedMatrix(DType::F32, 0, 16), Error);
  EXPECT_THROW(PackedMatrix(DType::F32, 16, -1), Error);
  EXPECT_THROW(PackedMatrix(DType::F32, std::int64_t{1} << 40, std::int64_t{1} << 40), Error);
  PackedMatrix matrix(DType::F32, 4, 8);
  EXPECT_THROW(matrix.set_rows(0, std::vector<float>(9)), Error);
  EXPECT_THROW(matrix.set_rows(3, std::vector<float>(16)), Error);
  EXPECT_THROW(matrix.set_rows(-1, std::vector<float>(8)), Error);
}

}  // namespace
}  // namespace augur
