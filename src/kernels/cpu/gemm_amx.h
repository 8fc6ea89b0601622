#pragma once
// The AMX tiles of the blocked GEMM, over an abstract tile unit: the processor's in gemm_amx.cpp, an emulated
// one in the tests, so that the blocking is tested on machines without AMX too.
//
// A tile of x is up to 16 rows x 32 k (64 bytes a row, taken where it lies); a tile of weights is 16 lines of
// one panel, 1 KiB in one piece; their product is added to 16 rows x 16 columns of sums. Two shapes:
//   up to 16 rows: sums 0..3 of four panels, x in 4, weights in 5..7 by turns
//   up to 32 rows: sums 0,1 (upper rows) and 2,3 (lower rows) of two panels, x in 4 and 5, weights in 6 and 7
#include <cstdint>
#include <cstring>

#include "kernels/cpu/gemm_blocked.h"

namespace augur {
namespace {

/// The operand of LDTILECFG.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

/// Unit: configure(TileConfig), release(), zero<T>(), load<T>(base, stride), store<T>(base, stride),
/// dot<C, A, B>(): C += A B.
template <class Unit>
class AmxTiles {
 public:
  static constexpr int kMaxRows = 32;
  static constexpr int kBlockRows = 32;
  static constexpr int kRowGrain = 16;
  static constexpr int kStepGrain = 16;
  static constexpr int kStepLines = 1;
  static constexpr int kStepX = 4;
  static constexpr int kMaxPanels = 4;
  static constexpr int panels(int rows) { return rows > 16 ? 2 : 4; }

  AmxTiles() = default;
  ~AmxTiles() {
    if (configured_rows_ != 0) unit_.release();
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  void run(const Tile& tile, std::int64_t rows, std::int64_t panels) {
    configure(static_cast<int>(rows));
    if (rows > 16) {
      panels == 1 ? run_tall<1>(tile, rows) : run_tall<2>(tile, rows);
    } else {
      switch (panels) {
        case 1:
          return run_flat<1>(tile, rows);
        case 2:
          return run_flat<2>(tile, rows);
        case 3:
          return run_flat<3>(tile, rows);
        default:
          return run_flat<4>(tile, rows);
      }
    }
  }

 private:
  void configure(int rows) {
    if (rows == configured_rows_) return;
    TileConfig config;
    const int upper = rows > 16 ? 16 : rows;
    const int lower = rows > 16 ? rows - 16 : rows;
    const bool tall = rows > 16;
    for (int t = 0; t < 8; ++t) {
      const bool weights = tall ? t >= 6 : t >= 5;
      const bool is_lower = t == 2 || t == 3 || t == 5;
      config.rows[t] = static_cast<std::uint8_t>(weights ? 16 : is_lower ? lower : upper);
      config.row_bytes[t] = 64;
    }
    unit_.configure(config);
    configured_rows_ = rows;
  }

  /// Up to 16 rows.
  template <int P>
  void run_flat(const Tile& t, std::int64_t rows) {
    const std::int64_t stride = P * 64;
    if (t.first) {
      unit_.template zero<0>();
      if constexpr (P > 1) unit_.template zero<1>();
      if constexpr (P > 2) unit_.template zero<2>();
      if constexpr (P > 3) unit_.template zero<3>();
    } else {
      unit_.template load<0>(t.spill, stride);
      if constexpr (P > 1) unit_.template load<1>(t.spill + 16, stride);
      if constexpr (P > 2) unit_.template load<2>(t.spill + 32, stride);
      if constexpr (P > 3) unit_.template load<3>(t.spill + 48, stride);
    }
    for (std::int64_t line = 0; line < t.steps; line += kStepGrain) {
      const char* w = t.w + 64 * line;
      prefetch_ahead<P, kStepGrain>(t, w, t.steps - line, *t.walk);
      unit_.template load<4>(t.x + 4 * line, t.x_stride);
      multiply_flat<0, 5>(w, t);
      if constexpr (P > 1) multiply_flat<1, 6>(w, t);
      if constexpr (P > 2) multiply_flat<2, 7>(w, t);
      if constexpr (P > 3) multiply_flat<3, 5>(w, t);
    }
    unit_.template store<0>(t.spill, stride);
    if constexpr (P > 1) unit_.template store<1>(t.spill + 16, stride);
    if constexpr (P > 2) unit_.template store<2>(t.spill + 32, stride);
    if constexpr (P > 3) unit_.template store<3>(t.spill + 48, stride);
    finish(t, rows, P);
  }

  template <int C, int B>
  void multiply_flat(const char* w, const Tile& t) {
    unit_.template load<B>(w + C * t.panel_bytes, 64);
    unit_.template dot<C, 4, B>();
  }

  /// 17 to 32 rows.
  template <int P>
  void run_tall(const Tile& t, std::int64_t rows) {
    const std::int64_t stride = P * 64;
    float* lower = t.spill + 16 * P * 16;
    if (t.first) {
      unit_.template zero<0>();
      unit_.template zero<2>();
      if constexpr (P > 1) unit_.template zero<1>();
      if constexpr (P > 1) unit_.template zero<3>();
    } else {
      unit_.template load<0>(t.spill, stride);
      unit_.template load<2>(lower, stride);
      if constexpr (P > 1) unit_.template load<1>(t.spill + 16, stride);
      if constexpr (P > 1) unit_.template load<3>(lower + 16, stride);
    }
    for (std::int64_t line = 0; line < t.steps; line += kStepGrain) {
      const char* w = t.w + 64 * line;
      prefetch_ahead<P, kStepGrain>(t, w, t.steps - line, *t.walk);
      unit_.template load<6>(w, 64);
      unit_.template load<4>(t.x + 4 * line, t.x_stride);
      unit_.template dot<0, 4, 6>();
      unit_.template load<5>(t.x + 16 * t.x_stride + 4 * line, t.x_stride);
      unit_.template dot<2, 5, 6>();
      if constexpr (P > 1) {
        unit_.template load<7>(w + t.panel_bytes, 64);
        unit_.template dot<1, 4, 7>();
        unit_.template dot<3, 5, 7>();
      }
    }
    unit_.template store<0>(t.spill, stride);
    unit_.template store<2>(lower, stride);
    if constexpr (P > 1) unit_.template store<1>(t.spill + 16, stride);
    if constexpr (P > 1) unit_.template store<3>(lower + 16, stride);
    finish(t, rows, P);
  }

  /// Brings finished sums from the spill buffer to y.
  static void finish(const Tile& t, std::int64_t rows, std::int64_t panels) {
    if (!t.last) return;
    const std::int64_t columns = 16 * panels;
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* sums = t.spill + r * columns;
      float* y = t.y + r * t.y_stride;
      for (std::int64_t j = 0; j < columns; ++j) {
        const float sum = t.bias == nullptr ? sums[j] : sums[j] + t.bias[j];
        y[j] = t.accumulate ? y[j] + sum : sum;
      }
    }
  }

  Unit unit_;
  int configured_rows_ = 0;
};

}  // namespace
}  // namespace augur
