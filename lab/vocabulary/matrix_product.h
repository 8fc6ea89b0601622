#pragma once
#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ops.h"
#include "model/workspace.h"

namespace augur {

/// A row-major matrix of numbers being learned from or learned.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  float* row(std::int64_t r) { return values.data() + r * columns; }
  const float* row(std::int64_t r) const { return values.data() + r * columns; }
};

Matrix transposed(const Matrix& a);

/// a b^T in float32 by the engine's own kernels, which want b packed: made for
/// matrices with so many rows that packing is little beside the product.
/// [a.rows, b.rows]
Matrix product_with_transposed(Backend& backend, const Matrix& a, const Matrix& b);

}  // namespace augur
