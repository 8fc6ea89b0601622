#include "kernels/gemm_fine.h"

#include <algorithm>

#include "kernels/quant_panel.h"

namespace augur {

namespace {

constexpr std::int64_t kPanel = 16;
/// Rows that share one reading of the weights: with their rests as many as one pass of the blocked product.
constexpr std::int64_t kMostRows = 64;
/// Products that wait for being added up, 128 KiB: a part of the second-level cache.
constexpr std::int64_t kWaiting = 1 << 15;

/// y = (products of a row + products of its rest) + bias, and what `accumulate` adds.
void add_up(const float* products, std::int64_t stride, const GemmTask& to) {
  const std::int64_t columns = to.panels * kPanel;
  for (std::int64_t r = 0; r < to.rows; ++r) {
    const float* row = products + 2 * r * stride;
    const float* rest = row + stride;
    float* y = to.y + r * to.y_stride;
    for (std::int64_t j = 0; j < columns; ++j) {
      const float sum = to.bias == nullptr ? row[j] + rest[j] : row[j] + rest[j] + to.bias[j];
      y[j] = to.accumulate ? y[j] + sum : sum;
    }
  }
}

}  // namespace

void gemm_fine(GemmQuantFn gemm, QuantKind kind, const GemmTask& task) {
  alignas(64) float products[kWaiting];
  const std::int64_t panel_bytes = 64 * std::int64_t{quant_layout(kind).lines} * task.steps;
  for (std::int64_t row = 0; row < task.rows; row += kMostRows) {
    const std::int64_t rows = std::min(kMostRows, task.rows - row);
    const std::int64_t most_panels = kWaiting / (2 * rows * kPanel);
    for (std::int64_t panel = 0; panel < task.panels; panel += most_panels) {
      GemmTask part = task;
      part.w += panel * panel_bytes;
      part.panels = std::min(most_panels, task.panels - panel);
      part.x += row * task.x_stride;
      part.rows = rows;
      part.y += row * task.y_stride + panel * kPanel;
      if (task.bias != nullptr) part.bias += panel * kPanel;
      GemmTask halves = part;
      halves.x_stride = task.x_stride / 2;
      halves.rows = 2 * rows;
      halves.y = products;
      halves.y_stride = part.panels * kPanel;
      halves.bias = nullptr;
      halves.accumulate = false;
      gemm(kind, halves);
      add_up(products, halves.y_stride, part);
    }
  }
}

}  // namespace augur
