#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "kernels/backend.h"
#include "lab/bench/machine_probe.h"

namespace augur {

/// What `augur bench kernels` measures: y[rows, n] = x[rows, k] W^T at several row counts.
struct KernelBenchOptions {
  std::int64_t k = 4096;
  std::int64_t n = 14336;
  DType dtype = DType::BF16;  ///< F32, BF16 or a quantised type
  std::vector<int> rows = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128};
  int rounds = 15;       ///< at least; a round measures the machine and every row count once
  double seconds = 0.0;  ///< goes on for this long where the rounds take less
  /// Four times as much is read before the same weights are read again.
  std::size_t cache_bytes = last_level_cache_bytes();
};

struct KernelBenchRow {
  int rows = 0;
  double ms = 0;
  double gb_per_s = 0;          ///< weight bytes / time
  double gflops = 0;            ///< 2 rows n k / time; of quantised weights these are integer operations
  double ratio_to_one_row = 0;  ///< time / time of one row
  /// max(weight bytes / bandwidth, flops / peak) / time, of the three measured next to each other.
  double roofline_fraction = 0;
};

struct KernelBenchResult {
  std::string cpu;
  Isa isa = Isa::Portable;
  int threads = 0;
  DType dtype = DType::BF16;
  std::int64_t k = 0;
  std::int64_t n = 0;
  double read_gb_per_s = 0;
  double peak_gflops = 0;
  GemmTraversal traversal;  ///< $AUGUR_GEMM_PLAN, or the fastest by measurement
  std::vector<KernelBenchRow> gemm;
};

/// Called after every round with the rounds done and those planned so far.
using KernelBenchProgress = std::function<void(int done, int planned)>;

/// Medians over rounds in which read bandwidth, peak rate and every row count are measured one after the
/// other, so that a machine whose speed drifts moves both sides of the roofline alike; the fraction of it is
/// taken in each round. The weights rotate through copies that together exceed the largest cache four times.
/// Error for an empty or non-positive shape or row count, or another dtype.
KernelBenchResult run_kernel_bench(Backend& backend, const KernelBenchOptions& options,
                                   const KernelBenchProgress& progress = {});

nlohmann::json to_json(const KernelBenchResult& result);

}  // namespace augur
