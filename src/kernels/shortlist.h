#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/ops.h"

namespace augur {

// Products with some panels of a matrix: a shortlist of a vocabulary head's rows. Each result has the bits
// that the whole product gives it, whichever panels are asked for.

/// Consecutive panels of a packed matrix.
struct PanelRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::int64_t count_panels(std::span<const PanelRun> runs);

/// y[rows, 16 * panels of the runs] = x W^T, the runs side by side in their order. `call` is that of the
/// whole product (its bias included), but for y_stride, which fits the runs; first_panel is 0. `panels`: this
/// thread's part of the runs' panels as if they were one row of them. Reads the runs as one stream: the
/// beginning of the next is prefetched before the end of the last.
void gemm_runs(GemmFn gemm, const GemmCall& call, std::span<const PanelRun> runs, Range panels);

/// The largest results of one row of such a product, and the sum over all of them.
struct RowTop {
  std::vector<std::int32_t> entries;  ///< columns of the runs, by falling value, equals by ascending column
  std::vector<float> values;
  float log_sum_exp = 0.0f;
};

/// Memory of one thread's fused products.
struct FusedTopScratch {
  TopKScratch top_k;
  std::vector<std::int32_t> found_entries, merged_entries;
  std::vector<float> found_values, merged_values;
};

/// gemm_runs() and top_k() in one: the results exist a few panels at a time, in `block` [rows,
/// kFusedColumns], and each row keeps its `k` largest, and log(sum(exp)) of the first `columns`. One thread's
/// part; merge_top() puts parts together. Columns from `columns` on (the padding of the matrix) do not count.
inline constexpr std::int64_t kFusedColumns = 512;
void gemm_runs_top(GemmFn gemm, const GemmCall& call, std::span<const PanelRun> runs, Range panels,
                   std::int64_t columns, int k, float* block, FusedTopScratch& scratch,
                   std::span<RowTop> out);

/// Puts the tops of two parts of a row together; those of `part` come later in the row.
void merge_top(RowTop& into, const RowTop& part, int k, FusedTopScratch& scratch);

}  // namespace augur
