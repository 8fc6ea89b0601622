#pragma once
#include <cstdint>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "kernels/gemm_plan.h"
#include "kernels/packed_matrix.h"
#include "kernels/quant_rows.h"

namespace augur {

/// y[rows, n] = x[rows, k] W^T (+ bias), one family for every row count: decoding, verification, prefill.
///
/// Law (what makes the family batch-invariant): y[r, j] is one float32 chain over k in a fixed order that
/// depends on nothing but k. Neither the number of rows, nor their neighbours, nor the thread count enters.
///   F32 weights:  acc = fma(x[i], w[i], acc),                              i = 0, 1, 2, ...
///   BF16 weights: acc = fma(x[i+1], w[i+1], acc); acc = fma(x[i], w[i], acc),  i = 0, 2, 4, ...
/// The second is what VDPBF16PS computes (odd element first), so the portable, AVX2, AVX-512 and AVX512-BF16
/// variants give the same bits. AMX takes blocks of 32 (even and odd products each summed from zero, the two
/// added, then added to acc: TDPBF16PS) and is batch-invariant too, but its bf16 bits differ from the
/// others'. Quantised weights meet rows in QuantBlocks, block b of 32 k after the other:
///   n   = sum of v[i] * q[i] over the block, exact in integers (v: quant_format.h)
///   acc = fma(n * w.scale, x.scale, acc); with a minimum then acc = fma(w.minimum, x.scaled_sum, acc)
/// (Kinds with halves have two sums of 16 k with a scale each, the first half's first, and then two minima,
/// which meet the scaled sums of the halves; n * w.scale, scales that are products of stored numbers, and
/// scaled sums are rounded to float32; a product that is 0 is +0). Integers have no order, so
/// here every variant gives the same bits. Own code: BLAS and oneDNN choose orders by the number of rows.
/// Fine rows (PackedMatrix::fine) are two rows of QuantBlocks, those of x and those of what they leave of it;
/// y is the first one's finished chain plus the second's. k runs over the padded columns. Subnormal operands
/// count as zero and subnormal results become zero, as those two instructions have it, in every variant. Of a
/// NaN only that it is one is promised. bias is added to the finished chain; with `accumulate`, the result is
/// then added to y.
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
using GemmFn = void (*)(const GemmCall& call, Range panels, const GemmPlan& plan);

}  // namespace augur
