#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/backend.h"
#include "kernels/logit_form.h"
#include "kernels/ops.h"
#include "kernels/panel_runs.h"

namespace augur {

/// The largest results of one row of a product with runs of panels, and the sum over all of them.
struct RowTop {
  std::vector<std::int32_t> entries;  ///< columns of the runs, by falling value, equals by ascending column
  std::vector<float> values;
  float log_sum_exp = 0.0f;
};

/// gemm_runs() and top_k() in one: the results exist a block of panels at a time and are ranked while they
/// are in the core's first caches; there is no buffer as wide as the vocabulary. What comes out does not
/// depend on the number of threads. Memory is reused from call to call; one product at a time.
class FusedTop {
 public:
  /// Before the region: for a product with so many rows and panels of runs.
  void prepare(int threads, int rows, std::int64_t panels, int k);
  /// On every thread of a region: a part of the product, in `form`. `columns`: by row, the first so many
  /// results count (the others are padding, or belong to other rows' lists). y and y_stride of the call are
  /// not used. Without barriers: x is ready before it.
  void multiply(const Team& team, const KernelSet& kernels, const GemmCall& call,
                std::span<const PanelRun> runs, std::span<const std::int64_t> columns,
                const LogitForm& form = {});
  /// After the region.
  void merge();
  /// min(k, columns) of a row's results. After merge().
  const RowTop& row(std::size_t r) const { return rows_[r]; }

 private:
  /// What one thread has ranked.
  struct ThreadTop {
    std::vector<RowTop> rows;
    Buffer<float> block;  ///< [rows, columns of a block]
    std::vector<std::int32_t> found;
    std::vector<float> found_values;
    TopKScratch top_k;
  };
  void rank(ThreadTop& own, std::size_t row, std::span<const float> values, std::int64_t first_column) const;

  int k_ = 0;
  std::int64_t panels_ = 0;
  std::int64_t block_panels_ = 1;
  std::int64_t blocks_ = 0;
  std::vector<ThreadTop> threads_;  ///< by thread
  std::vector<float> sums_;  ///< [rows, blocks] log(sum(exp)): added up in one order, whoever computed them
  std::vector<RowTop> rows_;
};

}  // namespace augur
