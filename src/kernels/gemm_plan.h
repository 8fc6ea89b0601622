#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

// Plain data only: kernel files that are compiled for other instruction sets include this (cpu/gemm_task.h).

namespace augur {

/// How products with weights of one type go over memory. Which plan is fast depends on the processor; none
/// changes a bit (the law of gemm.h says in which order sums are made). This one is nowhere the worst.
struct GemmPlan {
  int one_row_panels = 2;   ///< panels that a single row reads side by side, where its tile has so many
  int few_rows_panels = 2;  ///< that several rows read, which fit one tile
  int stream_lines = 160;   ///< 64-byte lines in flight ahead of such rows, over all panels; >= 1
  int block_kib = 192;      ///< KiB of weights that a core's caches hold while more rows pass; >= 1

  friend bool operator==(const GemmPlan&, const GemmPlan&) = default;
};

/// A plan for each type of weights.
class GemmPlans {
 public:
  const GemmPlan& of(DType type) const { return plans_[static_cast<std::size_t>(type)]; }
  void set(DType type, const GemmPlan& plan) { plans_[static_cast<std::size_t>(type)] = plan; }

 private:
  std::array<GemmPlan, 64> plans_{};
};

}  // namespace augur
