#include "kernels/panel_runs.h"

#include <cassert>

namespace augur {
namespace {

/// The next run's beginning is asked for while the last panels of this one are computed.
constexpr std::int64_t kTailPanels = 8;

}  // namespace

std::int64_t count_panels(std::span<const PanelRun> runs) {
  std::int64_t panels = 0;
  for (const PanelRun& run : runs) panels += run.count;
  return panels;
}

void gemm_runs(const KernelSet& kernels, const GemmCall& call, std::span<const PanelRun> runs, Range panels) {
  assert(call.first_panel == 0);
  PanelRun pending;  // computed once its successor is known
  std::int64_t pending_column = 0;
  const auto compute = [&](const PanelRun& run, std::int64_t column) {
    GemmCall part = call;
    part.y = call.y + column;
    part.first_panel = run.first;
    kernels.gemm(part, {run.first, run.first + run.count});
  };
  const auto flush = [&](const PanelRun* next) {
    if (pending.count == 0) return;
    if (next != nullptr && pending.count > kTailPanels) {
      const std::int64_t head = pending.count - kTailPanels;
      compute({pending.first, head}, pending_column);
      pending = {pending.first + head, kTailPanels};
      pending_column += head * PackedMatrix::kPanel;
    }
    if (next != nullptr) prefetch_panels(*call.weight, *next);
    compute(pending, pending_column);
  };
  visit_runs(runs, panels, [&](const PanelRun& run, std::int64_t column) {
    flush(&run);
    pending = run;
    pending_column = column;
  });
  flush(nullptr);
}

}  // namespace augur
