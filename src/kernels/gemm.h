#pragma once
#include <cstdint>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "kernels/gemm_traversal.h"
#include "kernels/packed_matrix.h"
#include "kernels/quant_rows.h"

namespace augur {

/// y[rows, n] = x[rows, k] W^T (+ bias), one family for every row count: decoding, verification, prefill.
///
/// Law: docs/law.md#products. A result depends on its row of x, its row of W and k: neither the number of
/// rows, nor their neighbours, nor the thread count enters. Own code: BLAS and oneDNN choose orders by the
/// number of rows. Quantised weights take rows of QuantBlocks, or fine rows (PackedMatrix::fine). k runs over
/// the padded columns. With `accumulate` the result, bias included, is added to y.
struct GemmCall {
  const PackedMatrix* weight = nullptr;
  const void* x = nullptr;  ///< [rows, x_stride] of weight->input_form(); columns k..padded_k are zero
  /// Elements between rows, >= padded_k, multiple of 32; fine rows: activation_stride(k). x is 64-byte
  /// aligned.
  std::int64_t x_stride = 0;
  int rows = 0;        ///< >= 1, any number
  float* y = nullptr;  ///< [rows, y_stride]; 64-byte aligned
  /// Elements between rows, multiple of 16, >= n rounded up to 16 (less what first_panel leaves out).
  std::int64_t y_stride = 0;
  const float* bias = nullptr;  ///< [n rounded up to 16] or null
  bool accumulate = false;      ///< y += instead of y =
  /// The panel whose columns come first in y: rows of y may be as short as the panels that are computed.
  std::int64_t first_panel = 0;
};

/// Computes the output panels [panels.begin, panels.end) of 16 columns each. Any thread, disjoint panels.
/// Columns n..16*panels() of y receive zeros (or bias padding); y_stride leaves room for them.
using GemmFn = void (*)(const GemmCall& call, Range panels, const GemmTraversal& traversal);

}  // namespace augur
