#pragma once
// The blocked GEMM shared by the vector variants. Included by files that are compiled for different
// instruction sets, so everything here has internal linkage (see gemm_task.h).
//
// A tile is R rows x P panels of accumulators kept in registers. Panels are taken in groups of P; a group's
// lines are cut into blocks; within a block all rows pass, R at a time. So a block's weights come from memory
// once and are met by the other rows in the cache nearest to the core. Between blocks the accumulators rest
// in a small buffer: spilling a float32 chain and going on with it does not change it. While a block is
// multiplied, the bytes of the next one are prefetched, spread evenly over the work, so that the memory bus
// and the multipliers are busy at the same time: that is what makes the crossover between "few rows"
// (bus-bound) and "many rows" (multiply-bound) cheap.
#include <cstdint>

#include "kernels/cpu/gemm_task.h"

namespace augur {
namespace {

/// Lines that a vector tile unrolls; between them it looks at the prefetcher.
constexpr int kUnroll = 4;

/// Rows that share one pass over the weights; more rows read the weights again.
constexpr std::int64_t kMaxPassRows = 128;

/// Walks over the bytes of the next block, in the order in which the tiles will want them.
struct Prefetcher {
  const char* next = nullptr;
  std::int64_t left = 0;  ///< lines left in the block
  std::int64_t left_in_panel = 0;
  std::int64_t panel_lines = 0;  ///< lines of the block in each panel
  std::int64_t skip = 0;         ///< bytes from the end of one panel's part to the next panel's

  void fetch(std::int64_t lines) {
    if (lines > left) lines = left;
    left -= lines;
    for (; lines > 0; --lines) {
      __builtin_prefetch(next, 0, 2);
      next += 64;
      if (--left_in_panel == 0) {
        left_in_panel = panel_lines;
        next += skip;
      }
    }
  }
};

/// What one call of a tile kernel works on: some lines of P panels and R rows.
struct Tile {
  const char* w;
  std::int64_t panel_bytes;
  const char* x;
  std::int64_t x_stride;
  std::int64_t lines;
  float* spill;      ///< [R][P][16] accumulators between blocks
  bool first, last;  ///< block of the chain
  float* y;
  std::int64_t y_stride;
  const float* bias;
  bool accumulate;
  Prefetcher* ahead;
  std::int64_t ahead_lines;  ///< to prefetch with every grain of lines
};

template <class Op, int R, int P>
void run_tile(const Tile& t) {
  typename Op::Acc acc[R][P];
  if (t.first) {
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) acc[r][p] = Op::zero();
  } else {
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) acc[r][p] = Op::load_acc(t.spill + (r * P + p) * 16);
  }

  const char* w = t.w;
  const char* x = t.x;
  Prefetcher ahead = *t.ahead;
  for (std::int64_t line = 0; line < t.lines; line += kUnroll) {
    ahead.fetch(t.ahead_lines);
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
      typename Op::X rows[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) rows[r] = Op::load_x(x + r * t.x_stride + 4 * u);
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) {
        const typename Op::W panel = Op::load_w(w + p * t.panel_bytes + 64 * u);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[r][p] = Op::dot(acc[r][p], rows[r], panel);
      }
    }
    w += 64 * kUnroll;
    x += 4 * kUnroll;
  }
  *t.ahead = ahead;

  if (!t.last) {
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) Op::store_acc(t.spill + (r * P + p) * 16, acc[r][p]);
    return;
  }
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) {
      float* y = t.y + r * t.y_stride + p * 16;
      typename Op::Acc sum = acc[r][p];
      if (t.bias != nullptr) sum = Op::add(sum, Op::load_acc(t.bias + p * 16));
      if (t.accumulate) sum = Op::add(Op::load_acc(y), sum);
      Op::store_acc(y, sum);
    }
  }
}

/// Kernels for every tile shape that fits the registers, at (R - 1) * Op::kMaxPanels + P - 1.
template <class Op>
struct TileTable {
  using Fn = void (*)(const Tile&);
  Fn kernels[Op::kMaxRows * Op::kMaxPanels] = {};

  constexpr TileTable() { fill<0>(); }
  Fn at(std::int64_t rows, std::int64_t panels) const {
    return kernels[(rows - 1) * Op::kMaxPanels + panels - 1];
  }

 private:
  template <int I>
  constexpr void fill() {
    if constexpr (I < Op::kMaxRows * Op::kMaxPanels) {
      constexpr int kRows = I / Op::kMaxPanels + 1;
      constexpr int kPanels = I % Op::kMaxPanels + 1;
      if constexpr (kPanels <= Op::panels(kRows)) kernels[I] = run_tile<Op, kRows, kPanels>;
      fill<I + 1>();
    }
  }
};

/// The tiles of a vector variant, as run_blocked() wants them. Op gives the register arithmetic.
template <class Op>
struct VectorTiles : Op {
  static constexpr int kRowGrain = 1;
  static constexpr int kLineGrain = kUnroll;
  static constexpr TileTable<Op> kTable{};
  void run(const Tile& tile, std::int64_t rows, std::int64_t panels) { kTable.at(rows, panels)(tile); }
};

inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// `count` items in `parts` parts of whole grains, as even as that allows.
struct Even {
  std::int64_t count, parts, grain;
  std::int64_t begin(std::int64_t i) const {
    return smaller(divide_up(count, grain) * i / parts * grain, count);
  }
  std::int64_t size(std::int64_t i) const { return begin(i + 1) - begin(i); }
  std::int64_t largest() const { return smaller(divide_up(divide_up(count, grain), parts) * grain, count); }
};

/// Up to kMaxPassRows rows against all panels of the task.
template <class Tiles>
void run_pass(Tiles& tiles, const GemmTask& task) {
  const Even row_blocks{task.rows, divide_up(task.rows, Tiles::kMaxRows), Tiles::kRowGrain};
  const Even groups{task.panels,
                    divide_up(task.panels, Tiles::panels(static_cast<int>(row_blocks.largest()))), 1};
  // Cut the lines so that a block of the widest group has about the bytes that suit the caches.
  const std::int64_t block_bytes = row_blocks.parts == 1 ? Tiles::kStreamBlockBytes : Tiles::kReuseBlockBytes;
  const Even blocks{task.lines, divide_up(64 * task.lines * groups.largest(), block_bytes),
                    Tiles::kLineGrain};

  alignas(64) float spill[kMaxPassRows * Tiles::kMaxPanels * 16];
  const std::int64_t panel_bytes = 64 * task.lines;
  for (std::int64_t g = 0; g < groups.parts; ++g) {
    const std::int64_t panel = groups.begin(g);
    const std::int64_t panels = groups.size(g);
    for (std::int64_t b = 0; b < blocks.parts; ++b) {
      const bool last = b + 1 == blocks.parts;
      Prefetcher ahead;
      if (!last || g + 1 < groups.parts) {
        const std::int64_t next_group = last ? g + 1 : g;
        const std::int64_t next_block = last ? 0 : b + 1;
        ahead.panel_lines = ahead.left_in_panel = blocks.size(next_block);
        ahead.left = ahead.panel_lines * groups.size(next_group);
        ahead.skip = panel_bytes - 64 * ahead.panel_lines;
        ahead.next = task.w + groups.begin(next_group) * panel_bytes + 64 * blocks.begin(next_block);
      }
      const std::int64_t grains = blocks.size(b) / Tiles::kLineGrain;
      for (std::int64_t i = 0; i < row_blocks.parts; ++i) {
        const std::int64_t row = row_blocks.begin(i);
        const Tile tile{.w = task.w + panel * panel_bytes + 64 * blocks.begin(b),
                        .panel_bytes = panel_bytes,
                        .x = task.x + row * task.x_stride + 4 * blocks.begin(b),
                        .x_stride = task.x_stride,
                        .lines = blocks.size(b),
                        .spill = spill + row * panels * 16,
                        .first = b == 0,
                        .last = last,
                        .y = task.y + row * task.y_stride + panel * 16,
                        .y_stride = task.y_stride,
                        .bias = task.bias == nullptr ? nullptr : task.bias + panel * 16,
                        .accumulate = task.accumulate,
                        .ahead = &ahead,
                        .ahead_lines = divide_up(ahead.left, (row_blocks.parts - i) * grains)};
        tiles.run(tile, row_blocks.size(i), panels);
      }
    }
  }
}

/// Tiles: an object of run(tile, rows, panels) and constants; it lives for the call.
template <class Tiles>
void run_blocked(const GemmTask& task) {
  Tiles tiles;
  const Even passes{task.rows, divide_up(task.rows, kMaxPassRows), 1};
  for (std::int64_t i = 0; i < passes.parts; ++i) {
    GemmTask pass = task;
    pass.rows = passes.size(i);
    pass.x = task.x + passes.begin(i) * task.x_stride;
    pass.y = task.y + passes.begin(i) * task.y_stride;
    run_pass(tiles, pass);
  }
}

}  // namespace
}  // namespace augur
