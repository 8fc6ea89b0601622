#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/backend.h"

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
void gemm_runs(const KernelSet& kernels, const GemmCall& call, std::span<const PanelRun> runs, Range panels);

/// Calls visit(run of panels of the matrix, first column in y) for the part `panels` of the runs.
template <class Visit>
void visit_runs(std::span<const PanelRun> runs, Range panels, const Visit& visit) {
  std::int64_t before = 0;
  for (const PanelRun& run : runs) {
    const std::int64_t begin = std::max<std::int64_t>(panels.begin - before, 0);
    const std::int64_t end = std::min(panels.end - before, run.count);
    if (begin < end) visit(PanelRun{run.first + begin, end - begin}, (before + begin) * PackedMatrix::kPanel);
    before += run.count;
  }
}

/// Asks for the first lines of panels that are about to be streamed: what covers the latency of memory until
/// the kernel's own prefetching has got going.
inline void prefetch_panels(const PackedMatrix& matrix, const PanelRun& run) {
  constexpr std::int64_t kPanels = 4;
  constexpr std::int64_t kBytes = 256;
  for (std::int64_t p = 0; p < std::min(kPanels, run.count); ++p) {
    const std::byte* panel = matrix.panel(run.first + p);
    for (std::int64_t byte = 0; byte < std::min(kBytes, matrix.panel_bytes()); byte += 64) {
      __builtin_prefetch(panel + byte, 0, 2);
    }
  }
}

}  // namespace augur
