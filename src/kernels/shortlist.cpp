#include "kernels/shortlist.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace augur {
namespace {

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
void prefetch_panels(const PackedMatrix& matrix, const PanelRun& run) {
  constexpr std::int64_t kPanels = 8;
  constexpr std::int64_t kBytes = 1024;
  for (std::int64_t p = 0; p < std::min(kPanels, run.count); ++p) {
    const std::byte* panel = matrix.panel(run.first + p);
    for (std::int64_t byte = 0; byte < std::min(kBytes, matrix.panel_bytes()); byte += 64) {
      __builtin_prefetch(panel + byte, 0, 2);
    }
  }
}

/// The next run's beginning is asked for while the last panels of this one are computed.
constexpr std::int64_t kTailPanels = 8;

}  // namespace

std::int64_t count_panels(std::span<const PanelRun> runs) {
  std::int64_t panels = 0;
  for (const PanelRun& run : runs) panels += run.count;
  return panels;
}

void gemm_runs(GemmFn gemm, const GemmCall& call, std::span<const PanelRun> runs, Range panels) {
  assert(call.first_panel == 0);
  PanelRun pending;  // computed once its successor is known
  std::int64_t pending_column = 0;
  const auto compute = [&](const PanelRun& run, std::int64_t column) {
    GemmCall part = call;
    part.y = call.y + column;
    part.first_panel = run.first;
    gemm(part, {run.first, run.first + run.count});
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

void merge_top(RowTop& into, const RowTop& part, int k, FusedTopScratch& scratch) {
  const auto most = static_cast<std::size_t>(k);
  auto& entries = scratch.merged_entries;
  auto& values = scratch.merged_values;
  entries.clear();
  values.clear();
  std::size_t a = 0;
  std::size_t b = 0;
  while (values.size() < most && (a < into.values.size() || b < part.values.size())) {
    const bool first =
        b == part.values.size() || (a < into.values.size() && into.values[a] >= part.values[b]);
    const RowTop& from = first ? into : part;
    std::size_t& i = first ? a : b;
    entries.push_back(from.entries[i]);
    values.push_back(from.values[i]);
    ++i;
  }
  into.entries.swap(entries);
  into.values.swap(values);
  const float high = std::max(into.log_sum_exp, part.log_sum_exp);
  const float low = std::min(into.log_sum_exp, part.log_sum_exp);
  into.log_sum_exp = std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

void gemm_runs_top(GemmFn gemm, const GemmCall& call, std::span<const PanelRun> runs, Range panels,
                   std::int64_t columns, int k, float* block, FusedTopScratch& scratch,
                   std::span<RowTop> out) {
  assert(std::ssize(out) >= call.rows);
  for (RowTop& row : out) row = {.log_sum_exp = -std::numeric_limits<float>::infinity()};
  scratch.found_entries.resize(static_cast<std::size_t>(k));
  scratch.found_values.resize(static_cast<std::size_t>(k));
  GemmCall part = call;
  part.y = block;
  part.y_stride = kFusedColumns;
  RowTop found;
  constexpr std::int64_t kPanels = kFusedColumns / PackedMatrix::kPanel;
  visit_runs(runs, panels, [&](const PanelRun& run, std::int64_t column) {
    for (std::int64_t done = 0; done < run.count; done += kPanels) {
      const std::int64_t count = std::min(kPanels, run.count - done);
      part.first_panel = run.first + done;
      gemm(part, {part.first_panel, part.first_panel + count});
      const std::int64_t base = column + done * PackedMatrix::kPanel;
      const std::int64_t width = std::min(count * PackedMatrix::kPanel, columns - base);
      if (width <= 0) continue;
      const auto kept = static_cast<std::size_t>(std::min<std::int64_t>(k, width));
      for (std::int64_t r = 0; r < call.rows; ++r) {
        const std::span<const float> values(block + r * kFusedColumns, static_cast<std::size_t>(width));
        top_k(values, k, scratch.top_k, scratch.found_entries.data(), scratch.found_values.data());
        found.values.assign(scratch.found_values.begin(),
                            scratch.found_values.begin() + static_cast<std::ptrdiff_t>(kept));
        found.entries.resize(kept);
        for (std::size_t i = 0; i < kept; ++i) {
          found.entries[i] = scratch.found_entries[i] + static_cast<std::int32_t>(base);
        }
        found.log_sum_exp = log_sum_exp(values.data(), width);
        merge_top(out[static_cast<std::size_t>(r)], found, k, scratch);
      }
    }
  });
}

}  // namespace augur
