#include "lab/vocabulary/matrix_product.h"

#include <algorithm>
#include <cassert>

namespace augur {

Matrix transposed(const Matrix& a) {
  Matrix out(a.columns, a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) out.row(c)[r] = a.row(r)[c];
  }
  return out;
}

Matrix product_with_transposed(Backend& backend, const Matrix& a, const Matrix& b) {
  assert(a.columns == b.columns);
  PackedMatrix packed(DType::F32, b.rows, b.columns);
  RowBuffer x(InputForm::F32, activation_stride(a.columns), 1);
  RowBuffer y(InputForm::F32, b.rows, PackedMatrix::kPanel);
  x.ensure(a.rows);
  y.ensure(a.rows);
  Matrix out(a.rows, b.rows);
  backend.pool.run([&](Team& team) {
    const Range panels = team.split(packed.panels());
    const std::int64_t first = panels.begin * PackedMatrix::kPanel;
    const std::int64_t end = std::min(panels.end * PackedMatrix::kPanel, b.rows);
    if (first < end) {
      packed.set_rows(first, {b.row(first), static_cast<std::size_t>((end - first) * b.columns)});
    }
    const Range rows = team.split(a.rows);
    for (std::int64_t r = rows.begin; r < rows.end; ++r) std::copy_n(a.row(r), a.columns, x.floats(r));
    team.barrier();
    backend.kernels.gemm({.weight = &packed,
                          .x = x.row(0),
                          .x_stride = x.stride(),
                          .rows = static_cast<int>(a.rows),
                          .y = y.floats(0),
                          .y_stride = y.stride()},
                         panels);
    team.barrier();
    for (std::int64_t r = rows.begin; r < rows.end; ++r) std::copy_n(y.floats(r), b.rows, out.row(r));
  });
  return out;
}

}  // namespace augur
