#pragma once
// The blocked GEMM shared by the vector variants and AMX. Included by files that are compiled for different
// instruction sets, so everything here has internal linkage (see gemm_task.h).
//
// A tile is R rows x P panels of accumulators in registers. Both loops around it are about the memory bus:
//
// Few rows (they fit one tile). Groups of P panels are read from end to end, once. The bus is the limit;
// every line is prefetched a fixed distance before it is used, across the seam between groups: into the
// first-level cache, into the second from farther ahead, both, or not at all, where the processor's own
// prefetching is better.
//
// Both count in steps: the 64-byte lines of a panel that meet one piece of a row of x. For float weights a
// step is one line, for quantised ones those of 64 or 256 k with their scales.
//
// More rows. A group's steps are cut into blocks that stay in the core's caches while all rows pass, R at a
// time; between blocks the accumulators rest in a small buffer (spilling a float32 chain and going on with it
// does not change it). Meanwhile the next block is prefetched, line after line in the order of memory, spread
// evenly over the work: so bus and multipliers are busy at the same time, which is what makes the crossover
// between the two limits cheap.
//
// Panels side by side, distances and sizes are the task's traversal: what is fast differs between processors
// (prefetching more than the first-level cache holds costs up to a third of the bandwidth on Zen 5).
#include <cstdint>

#include "kernels/cpu/gemm_task.h"

namespace augur {
namespace {

/// Steps of float weights that a vector tile unrolls; between them it looks after prefetching.
constexpr int kUnroll = 4;

/// Rows that share one pass over the weights; more rows read the weights again.
constexpr std::int64_t kMaxPassRows = 128;

inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Walks over the bytes of the next block in the order of memory.
struct Walk {
  const char* next = nullptr;
  std::int64_t left = 0;  ///< lines left in the block
  std::int64_t left_in_panel = 0;
  std::int64_t panel_lines = 0;  ///< lines of the block in each panel
  std::int64_t skip = 0;         ///< bytes from the end of one panel's part to the next panel's

  /// `kLevel`: __builtin_prefetch's locality, 3 for the first level of cache, 2 for the second.
  template <int kLevel = 3>
  void prefetch(std::int64_t lines) {
    if (lines > left) lines = left;
    left -= lines;
    for (; lines > 0; --lines) {
      __builtin_prefetch(next, 0, kLevel);
      next += 64;
      if (--left_in_panel == 0) {
        left_in_panel = panel_lines;
        next += skip;
      }
    }
  }
};

/// What one call of a tile kernel works on: some steps of P panels and R rows.
struct Tile {
  const char* w;
  std::int64_t panel_bytes;
  const char* x;
  std::int64_t x_stride;
  std::int64_t steps;
  float* spill;      ///< [R][P][16] accumulators between blocks
  bool first, last;  ///< block of the chain
  float* y;
  std::int64_t y_stride;
  const float* bias;
  bool accumulate;

  // Prefetching, of the next block and of the own lines.
  Walk* walk;
  std::int64_t walk_lines;             ///< of it with every grain of steps
  std::int64_t near_lines, far_lines;  ///< distances ahead in each panel (GemmTraversal::Stream); 0: none
  const char* after;                   ///< where the stream goes on after these steps, or null
};

/// What is to be prefetched for a stream that is at `w` in panel 0, with `left` lines of each panel to come
/// from there, or null.
inline const char* ahead(const Tile& t, const char* w, std::int64_t left, std::int64_t lines) {
  if (lines == 0) return nullptr;
  if (lines < left) return w + 64 * lines;
  return t.after == nullptr ? nullptr : t.after + 64 * (lines - left);
}

/// Prefetches `Lines` lines of P panels from `next` in panel 0 on, if it is not null. `Level`: see Walk.
template <int P, int Lines, int Level>
[[gnu::always_inline]] inline void prefetch_lines(const Tile& t, const char* next) {
  if (next == nullptr) return;
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 16
    for (int i = 0; i < Lines; ++i) __builtin_prefetch(next + p * t.panel_bytes + 64 * i, 0, Level);
  }
}

/// Prefetches what `Lines` lines of P panels call for. `w` points to the first of them in panel 0, `left`
/// lines of each panel are to come from there.
template <int P, int Lines>
inline void prefetch_ahead(const Tile& t, const char* w, std::int64_t left, Walk& walk) {
  walk.prefetch(t.walk_lines);
  prefetch_lines<P, Lines, 3>(t, ahead(t, w, left, t.near_lines));
  prefetch_lines<P, Lines, 2>(t, ahead(t, w, left, t.far_lines));
}

/// The sums a tile begins with.
template <class Op, int R, int P>
[[gnu::always_inline]] inline void begin_tile(const Tile& t, typename Op::Acc (&acc)[R][P]) {
  if (t.first) {
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) acc[r][p] = Op::zero();
  } else {
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) acc[r][p] = Op::load_acc(t.spill + (r * P + p) * 16);
  }
  if (t.last) {  // own the lines of y by the time they are stored
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p) __builtin_prefetch(t.y + r * t.y_stride + p * 16, 1, 3);
  }
}

/// Brings a tile's sums to the spill buffer or, finished, to y.
template <class Op, int R, int P>
[[gnu::always_inline]] inline void finish_tile(const Tile& t, const typename Op::Acc (&acc)[R][P]) {
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

template <class Op, int R, int P>
void run_tile(const Tile& t) {
  typename Op::Acc acc[R][P];
  begin_tile<Op>(t, acc);

  // Addresses as base + {0, 1, 2, 3} strides: few registers hold them all.
  const char* w = t.w;
  const char* x = t.x;
  const std::int64_t w_stride = t.panel_bytes;
  const std::int64_t x_stride = t.x_stride;
  const auto w_at = [&](int p, int u) { return w + (p / 4) * 4 * w_stride + (p % 4) * w_stride + 64 * u; };
  const auto x_at = [&](int r, int u) { return x + (r / 4) * 4 * x_stride + (r % 4) * x_stride + 4 * u; };
  Walk walk = *t.walk;
  for (std::int64_t step = 0; step < t.steps; step += kUnroll) {
    prefetch_ahead<P, kUnroll>(t, w, t.steps - step, walk);
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
      // The shorter side waits in registers, the longer passes through one.
      if constexpr (P <= R) {
        typename Op::W panel[P];
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) panel[p] = Op::load_w(w_at(p, u));
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const typename Op::X row = Op::load_x(x_at(r, u));
#pragma GCC unroll 16
          for (int p = 0; p < P; ++p) acc[r][p] = Op::dot(acc[r][p], row, panel[p]);
        }
      } else {
        typename Op::X row[R];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) row[r] = Op::load_x(x_at(r, u));
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          const typename Op::W panel = Op::load_w(w_at(p, u));
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) acc[r][p] = Op::dot(acc[r][p], row[r], panel);
        }
      }
    }
    w += 64 * kUnroll;
    x += 4 * kUnroll;
  }
  *t.walk = walk;
  finish_tile<Op>(t, acc);
}

using TileKernel = void (*)(const Tile&);

/// Kernels for the tile shapes of a variant, at (R - 1) * Op::kMaxPanels + P - 1: Kernels::kernel<R, P>.
template <class Op, class Kernels>
struct TileTable {
  TileKernel kernels[Op::kMaxRows * Op::kMaxPanels] = {};

  constexpr TileTable() { fill<0>(); }
  TileKernel at(std::int64_t rows, std::int64_t panels) const {
    return kernels[(rows - 1) * Op::kMaxPanels + panels - 1];
  }

 private:
  template <int I>
  constexpr void fill() {
    if constexpr (I < Op::kMaxRows * Op::kMaxPanels) {
      constexpr int kRows = I / Op::kMaxPanels + 1;
      constexpr int kPanels = I % Op::kMaxPanels + 1;
      if constexpr (kPanels <= Op::panels(kRows)) kernels[I] = Kernels::template kernel<kRows, kPanels>;
      fill<I + 1>();
    }
  }
};

/// The tiles of a vector variant, as run_blocked() wants them. Op gives the register arithmetic and
///   kMaxRows    rows of the tallest tile: up to so many stream
///   kBlockRows  rows of a tile when there are more
///   panels(R)   panels of a tile of R rows, at most kMaxPanels
/// Beside these, run_blocked() looks at
///   kRowGrain, kStepGrain    rows and steps that tiles are whole multiples of
///   kStepLines, kStepX       lines of a panel and bytes of a row of x in a step
template <class Op>
struct VectorTiles : Op {
  static constexpr int kRowGrain = 1;
  static constexpr int kStepGrain = kUnroll;
  static constexpr int kStepLines = 1;
  static constexpr int kStepX = 4;
  struct Kernels {
    template <int R, int P>
    static constexpr TileKernel kernel = run_tile<Op, R, P>;
  };
  static constexpr TileTable<Op, Kernels> kTable{};
  void run(const Tile& tile, std::int64_t rows, std::int64_t panels) { kTable.at(rows, panels)(tile); }
};

/// `count` items in `parts` parts of whole grains, as even as that allows.
struct Even {
  std::int64_t count, parts, grain;
  std::int64_t begin(std::int64_t i) const {
    return smaller(divide_up(count, grain) * i / parts * grain, count);
  }
  std::int64_t size(std::int64_t i) const { return begin(i + 1) - begin(i); }
  std::int64_t largest() const { return smaller(divide_up(divide_up(count, grain), parts) * grain, count); }
};

template <class Tiles>
Tile first_tile(const GemmTask& task, Walk* walk) {
  return {.w = task.w,
          .panel_bytes = 64 * Tiles::kStepLines * task.steps,
          .x = task.x,
          .x_stride = task.x_stride,
          .steps = task.steps,
          .spill = nullptr,
          .first = true,
          .last = true,
          .y = task.y,
          .y_stride = task.y_stride,
          .bias = task.bias,
          .accumulate = task.accumulate,
          .walk = walk,
          .walk_lines = 0,
          .near_lines = 0,
          .far_lines = 0,
          .after = nullptr};
}

/// How far a tile of so many panels prefetches its own lines.
inline void stream_ahead(Tile& tile, const GemmTraversal::Stream& stream, std::int64_t panels) {
  tile.near_lines = divide_up(stream.near_lines, panels);
  tile.far_lines = divide_up(stream.far_lines, panels);
}

/// Rows that fit one tile.
template <class Tiles>
void run_streaming(Tiles& tiles, const GemmTask& task) {
  const GemmTraversal::Stream& stream = task.traversal.stream(task.rows);
  const std::int64_t most_panels = smaller(stream.panels, Tiles::panels(static_cast<int>(task.rows)));
  const Even groups{task.panels, divide_up(task.panels, most_panels), 1};
  alignas(64) float spill[Tiles::kMaxRows * Tiles::kMaxPanels * 16];
  Walk nothing;
  Tile tile = first_tile<Tiles>(task, &nothing);
  tile.spill = spill;
  for (std::int64_t g = 0; g < groups.parts; ++g) {
    const std::int64_t panel = groups.begin(g);
    const std::int64_t panels = groups.size(g);
    tile.w = task.w + panel * tile.panel_bytes;
    tile.y = task.y + panel * 16;
    tile.bias = task.bias == nullptr ? nullptr : task.bias + panel * 16;
    stream_ahead(tile, stream, panels);
    tile.after = g + 1 < groups.parts ? tile.w + panels * tile.panel_bytes : nullptr;
    tiles.run(tile, task.rows, panels);
  }
}

/// Any number of rows up to kMaxPassRows.
template <class Tiles>
void run_pass(Tiles& tiles, const GemmTask& task) {
  constexpr std::int64_t kStepBytes = 64 * Tiles::kStepLines;
  const Even row_blocks{task.rows, divide_up(task.rows, Tiles::kBlockRows), Tiles::kRowGrain};
  // Two row blocks are near the crossover, where what counts is a steady walk: narrower groups.
  const std::int64_t most_panels =
      row_blocks.parts == 2 ? smaller(2, Tiles::panels(Tiles::kBlockRows)) : Tiles::panels(Tiles::kBlockRows);
  const Even groups{task.panels, divide_up(task.panels, most_panels), 1};
  const Even blocks{task.steps,
                    smaller(divide_up(kStepBytes * task.steps * most_panels, 1024 * task.traversal.block_kib),
                            divide_up(task.steps, Tiles::kStepGrain)),
                    Tiles::kStepGrain};

  alignas(64) float spill[kMaxPassRows * Tiles::panels(Tiles::kBlockRows) * 16];
  Walk walk;
  Tile tile = first_tile<Tiles>(task, &walk);
  for (std::int64_t g = 0; g < groups.parts; ++g) {
    const std::int64_t panel = groups.begin(g);
    const std::int64_t panels = groups.size(g);
    for (std::int64_t b = 0; b < blocks.parts; ++b) {
      tile.first = b == 0;
      tile.last = b + 1 == blocks.parts;
      tile.w = task.w + panel * tile.panel_bytes + kStepBytes * blocks.begin(b);
      tile.steps = blocks.size(b);
      tile.bias = task.bias == nullptr ? nullptr : task.bias + panel * 16;
      if (!tile.last || g + 1 < groups.parts) {
        const std::int64_t next_group = tile.last ? g + 1 : g;
        const std::int64_t next_block = tile.last ? 0 : b + 1;
        walk.panel_lines = walk.left_in_panel = Tiles::kStepLines * blocks.size(next_block);
        walk.left = walk.panel_lines * groups.size(next_group);
        walk.skip = tile.panel_bytes - 64 * walk.panel_lines;
        walk.next =
            task.w + groups.begin(next_group) * tile.panel_bytes + kStepBytes * blocks.begin(next_block);
      }
      for (std::int64_t i = 0; i < row_blocks.parts; ++i) {
        const std::int64_t row = row_blocks.begin(i);
        tile.x = task.x + row * task.x_stride + Tiles::kStepX * blocks.begin(b);
        tile.y = task.y + row * task.y_stride + panel * 16;
        tile.spill = spill + row * panels * 16;
        // Nobody has prefetched the first block of all.
        const bool cold = g == 0 && b == 0 && i == 0;
        stream_ahead(tile, cold ? task.traversal.few_rows : GemmTraversal::Stream{.near_lines = 0}, panels);
        tile.walk_lines = divide_up(walk.left, (row_blocks.parts - i) * (tile.steps / Tiles::kStepGrain));
        tiles.run(tile, row_blocks.size(i), panels);
      }
    }
  }
}

/// Tiles: an object of run(tile, rows, panels) and constants; it lives for the call.
template <class Tiles>
void run_blocked(const GemmTask& task) {
  Tiles tiles;
  if (task.rows <= Tiles::kMaxRows) {
    run_streaming(tiles, task);
    return;
  }
  const Even passes{task.rows, divide_up(task.rows, kMaxPassRows), Tiles::kRowGrain};
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
