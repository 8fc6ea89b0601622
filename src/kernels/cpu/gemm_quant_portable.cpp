// The law of quantised products (gemm.h) in plain C++: slow, and what every other variant is compared with.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/gemm_task.h"
#include "kernels/quant_panel.h"
#include "kernels/quant_rows.h"

namespace augur {

static_assert(sizeof(QuantBlock) == kQuantBlockBytes && offsetof(QuantBlock, scale) == kQuantScaleAt &&
              offsetof(QuantBlock, scaled_sum) == kQuantScaledSumAt &&
              offsetof(QuantBlock, offset) == kQuantOffsetAt &&
              offsetof(QuantBlock, offset_low) == kQuantOffsetLowAt);

namespace {

constexpr int kPanel = 16;
/// Rows whose sums are kept while a panel is unpacked once.
constexpr std::int64_t kRows = 32;

/// n * scale, rounded once; of no other sign than the vector variants' zeros.
float scaled(std::int32_t n, float scale) {
  return std::fma(kQuantMagicFloat + static_cast<float>(n), scale, -kQuantMagicFloat * scale);
}

float add_block(float sum, const QuantValues& w, const QuantBlock& x, const QuantLayout& layout) {
  std::int32_t parts[2] = {0, 0};
  for (int i = 0; i < 32; ++i) parts[i / 16] += w.values[i] * x.q[i];
  if (layout.halves) {
    sum = std::fma(scaled(parts[0], w.scales[0]), x.scale, sum);
    sum = std::fma(scaled(parts[1], w.scales[1]), x.scale, sum);
  } else {
    sum = std::fma(scaled(parts[0] + parts[1], w.scales[0]), x.scale, sum);
  }
  if (!layout.minimum) return sum;
  if (!layout.halves) return std::fma(w.minimums[0], x.scaled_sum, sum);
  // As the vector variants have it, whose zeros have signs, too: both factors are 128 times, or a 128th.
  const float low = x.scale * static_cast<float>(x.offset_low - kQuantMagic);
  const float high = x.scale * static_cast<float>(x.offset - x.offset_low);
  sum = std::fma(w.minimums[0] * (-1.0f / 128), low, sum);
  return std::fma(w.minimums[1] * (-1.0f / 128), high, sum);
}

}  // namespace

void gemm_quant_portable(QuantKind kind, const GemmTask& task) {
  const QuantLayout& layout = quant_layout(kind);
  for (std::int64_t p = 0; p < task.panels; ++p) {
    const auto* panel = reinterpret_cast<const std::byte*>(task.w) + p * task.steps * layout.lines * 64;
    for (std::int64_t first = 0; first < task.rows; first += kRows) {
      const std::int64_t rows = std::min(kRows, task.rows - first);
      float sums[kRows][kPanel] = {};
      for (std::int64_t b = 0; b < task.steps * layout.blocks; ++b) {
        for (int j = 0; j < kPanel; ++j) {
          const QuantValues w = unpack_quantized_block(kind, panel, b, j);
          for (std::int64_t r = 0; r < rows; ++r) {
            QuantBlock x;
            std::memcpy(&x, task.x + (first + r) * task.x_stride + b * kQuantBlockBytes, sizeof x);
            sums[r][j] = add_block(sums[r][j], w, x, layout);
          }
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        float* y = task.y + (first + r) * task.y_stride + p * kPanel;
        for (int j = 0; j < kPanel; ++j) {
          const float sum = task.bias == nullptr ? sums[r][j] : sums[r][j] + task.bias[p * kPanel + j];
          y[j] = task.accumulate ? y[j] + sum : sum;
        }
      }
    }
  }
}

std::int64_t peak_quant_portable(std::int64_t rounds, float* sink) {
  std::int32_t sums[kPanel];
  for (int j = 0; j < kPanel; ++j) sums[j] = j;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::int32_t& sum : sums) sum = static_cast<std::int8_t>(sum) * 3 + (sum & 0xff);
  }
  for (int j = 0; j < kPanel; ++j) sink[j] = static_cast<float>(sums[j]);
  return rounds * kPanel * 2;
}

}  // namespace augur
