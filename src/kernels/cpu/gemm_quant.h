#pragma once
// The tiles of quantised products, for the blocking of gemm_blocked.h. Included by files that are compiled
// for different instruction sets, so everything here has internal linkage (see gemm_task.h).
//
// A tile goes block by block: 8 dot products of 4 bytes per row and panel give the block's integer, which is
// scaled and added to the float sums. `Op` has the registers of an instruction set (one row of one panel is
// an Acc of floats and an Int of integers), `Format` the layout of the weights.
//
//   load_bytes(p)                  64 bytes as they lie in memory
//   low_nibbles(b), high_nibbles(b), six_bits(...), two_bits(b, u), three_bits(b, bits, u, at)
//   low_looked_up<table>(b), high_looked_up<table>(b)
//                                  what they hold, in the form in which dot() wants it
//   start<layout>(p), int_magic()     the integer a block's sum begins with, of weights without and with a
//                                     minimum: kQuantMagic and what the weights' 128 adds
//   dot<layout>(int, bytes, x)        += products of bytes with 4 bytes of a row in every lane
//   fold<layout>(int, u)              what is to be done with a sum after the products of lines u and u + 4
//   as_float(int)                     the bits as a float: 1.5 * 2^23 + the block's integer, the sum of v * q
//   half16(p), byte16(p), signed16(p), low_nibble16(p), high_nibble16(p), power16(p)
//                                  scales of 16 columns as floats
//   rows_at_once(P)   rows of P panels whose integers the registers hold. A tile may have twice as many: one
//                     half passes after the other
//
// In which order a block's integers are added makes no difference to them, so an Op is free there. The floats
// are the law's.
#include "kernels/cpu/gemm_blocked.h"
#include "kernels/cpu/quant_format.h"

namespace augur {
namespace {

template <class Op, class Format, int R, int P>
struct QuantTile {
  using Acc = typename Op::Acc;
  using Int = typename Op::Int;
  static constexpr QuantLayout kLayout = Format::layout;

  /// What of the next block is prefetched waits in the second level where it is much: in the first it would
  /// take the place of what is being read.
  static constexpr int kWalkLevel = kLayout.block_lines == 8 ? 2 : 3;

  /// Lines u and u + 4 of a block (all there is to read for a pair of byte lines).
  struct Pair {
    typename Op::Bytes low, high;
  };
  static Pair load_pair(const char* block, int u) {
    if constexpr (kLayout.block_lines == 8) {
      return {Op::load_bytes(block + 64 * u), Op::load_bytes(block + 64 * (u + 4))};
    } else if constexpr (kLayout.block_lines == 4) {
      const auto nibbles = Op::load_bytes(block + 64 * u);
      if constexpr (kLayout.table != QuantTable::None) {
        return {Op::template low_looked_up<kLayout.table>(nibbles),
                Op::template high_looked_up<kLayout.table>(nibbles)};
      } else {
        return {Op::low_nibbles(nibbles), Op::high_nibbles(nibbles)};
      }
    } else if constexpr (kLayout.block_lines < 4) {
      const auto low = Op::load_bytes(block);
      const auto high = Op::load_bytes(block + 64);
      if constexpr (kLayout.block_lines == 2) {
        return {Op::two_bits(low, u), Op::two_bits(high, u)};
      } else {
        const auto third = Op::load_bytes(block + 64 * 2);
        return {Op::three_bits(low, third, u, u), Op::three_bits(high, third, u, u + 4)};
      }
    } else {
      const auto nibbles = Op::load_bytes(block + 64 * u);
      const auto low = Op::load_bytes(block + 64 * 4);
      const auto high = Op::load_bytes(block + 64 * 5);
      return {Op::six_bits(Op::low_nibbles(nibbles), low, u),
              Op::six_bits(Op::high_nibbles(nibbles), high, u)};
    }
  }

  static float float_at(const char* p) {
    float v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }

  /// What one block of one panel is scaled with: a scale, and what it makes of the 1.5 * 2^23 in as_float().
  struct Scale {
    Acc scale, magic;
    Scale() = default;
    explicit Scale(Acc s) : scale(s), magic(Op::mul(s, Op::splat(-kQuantMagicFloat))) {}
    /// The integer times the scale, rounded once.
    Acc times(Int v) const { return Op::fma(Op::as_float(v), scale, magic); }
  };
  struct Scales {
    Scale scale, second;
    Acc minimum, second_minimum;  ///< with halves divided by 128
  };
  [[gnu::always_inline]] static Scales scales(const char* step, int index) {
    constexpr float kUnit = 1.0f / static_cast<float>(kLayout.unit);
    const char* at = step + quant_scales_at(kLayout);
    Scales s;
    if constexpr (kLayout.k_scales) {
      const char* bytes = at + 64 + quant_k_scale_bytes(kLayout) * index;
      Acc d = Op::half16(at);
      if constexpr (kLayout.unit != 1) d = Op::mul(d, Op::splat(kUnit));
      if constexpr (kLayout.halves && kLayout.minimum) {
        const Acc dmin = Op::mul(Op::half16(at + 32), Op::splat(1.0f / 128));
        s.scale = Scale(Op::mul(d, Op::low_nibble16(bytes)));
        s.second = Scale(Op::mul(d, Op::low_nibble16(bytes + 16)));
        s.minimum = Op::mul(dmin, Op::high_nibble16(bytes));
        s.second_minimum = Op::mul(dmin, Op::high_nibble16(bytes + 16));
      } else {
        s.scale = Scale(Op::mul(d, kLayout.minimum ? Op::byte16(bytes) : Op::signed16(bytes)));
        if constexpr (kLayout.halves) s.second = Scale(Op::mul(d, Op::signed16(bytes + 16)));
        if constexpr (kLayout.minimum)
          s.minimum = Op::neg(Op::mul(Op::half16(at + 32), Op::byte16(bytes + 16)));
      }
    } else if constexpr (kLayout.powers) {
      s.scale = Scale(Op::power16(at + 16 * index));
    } else {
      Acc d = Op::half16(at + 32 * index);
      if constexpr (kLayout.unit != 1) d = Op::mul(d, Op::splat(kUnit));
      s.scale = Scale(d);
      if constexpr (kLayout.minimum) s.minimum = Op::half16(at + 64 + 32 * index);
    }
    return s;
  }

  /// The integers a block's sums of one row begin with: of all 32 k, or of the two halves.
  [[gnu::always_inline]] static void start(const char* x, Int& low, Int& high) {
    if constexpr (kLayout.minimum) {
      low = Op::int_magic();
      high = Op::int_magic();
    } else if constexpr (kLayout.halves) {
      low = Op::template start<kLayout>(x + kQuantOffsetLowAt);
      high = Op::int_sub(Op::template start<kLayout>(x + kQuantOffsetAt), Op::int_sub(low, Op::int_magic()));
    } else {
      low = Op::template start<kLayout>(x + kQuantOffsetAt);
    }
  }

  /// -128 times the sums of a row's two halves of a block, scaled.
  struct Halves {
    Acc low, high;
  };
  [[gnu::always_inline]] static Halves half_sums(const char* x) {
    std::int32_t all, low;
    __builtin_memcpy(&all, x + kQuantOffsetAt, sizeof all);
    __builtin_memcpy(&low, x + kQuantOffsetLowAt, sizeof low);
    const float scale = float_at(x + kQuantScaleAt);
    return {Op::splat(scale * static_cast<float>(low - kQuantMagic)),
            Op::splat(scale * static_cast<float>(all - low))};
  }

  /// sum + a block's finished integers, scaled. `x`: the row's QuantBlock.
  [[gnu::always_inline]] static Acc add_block(Acc sum, Int low, Int high, const Scales& s, const char* x) {
    const Acc x_scale = Op::splat(float_at(x + kQuantScaleAt));
    sum = Op::fma(s.scale.times(low), x_scale, sum);
    if constexpr (kLayout.halves) sum = Op::fma(s.second.times(high), x_scale, sum);
    if constexpr (kLayout.minimum && kLayout.halves) {
      const Halves sums = half_sums(x);
      sum = Op::fma(s.minimum, sums.low, sum);
      sum = Op::fma(s.second_minimum, sums.high, sum);
    } else if constexpr (kLayout.minimum) {
      sum = Op::fma(s.minimum, Op::splat(float_at(x + kQuantScaledSumAt)), sum);
    }
    return sum;
  }

  /// One block of 32 k: `w` its values in panel 0, `step` the step it lies in, `x` the rows' QuantBlocks.
  [[gnu::always_inline]] static void block(const Tile& t, Acc (&acc)[R][P], const char* w, const char* step,
                                           int index, const char* x) {
    constexpr int kAtOnce = R <= Op::rows_at_once(P) ? R : (R + 1) / 2;
    static_assert(kAtOnce <= Op::rows_at_once(P));
    rows_of_block<0, kAtOnce>(t, acc, w, step, index, x);
    if constexpr (kAtOnce < R) rows_of_block<kAtOnce, R - kAtOnce>(t, acc, w, step, index, x);
  }

  /// What a block adds to rows kFirst .. kFirst + kRows - 1, whose integers are in registers together. The
  /// sums of many rows wait in memory.
  template <int kFirst, int kRows>
  [[gnu::always_inline]] static void rows_of_block(const Tile& t, Acc (&acc)[R][P], const char* w,
                                                   const char* step, int index, const char* x) {
    Int low[kRows][P];
    Int high[kRows][P];  // used by kinds with halves
    const auto row = [&](int i) {
      const int r = kFirst + i;
      return x + (r / 4) * 4 * t.x_stride + (r % 4) * t.x_stride;
    };
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) start(row(r), low[r][p], high[r][p]);
    }
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) {
      Pair panel[P];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) panel[p] = load_pair(w + p * t.panel_bytes, u);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const typename Op::X first = Op::load_x(row(r) + 4 * u);
        const typename Op::X second = Op::load_x(row(r) + 4 * (u + 4));
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) low[r][p] = Op::template dot<kLayout>(low[r][p], panel[p].low, first);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) {
          Int& sum = kLayout.halves ? high[r][p] : low[r][p];
          sum = Op::template fold<kLayout>(Op::template dot<kLayout>(sum, panel[p].high, second), u);
          if constexpr (kLayout.halves) low[r][p] = Op::template fold<kLayout>(low[r][p], u);
        }
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const Scales scale = scales(step + p * t.panel_bytes, index);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        Acc& sum = acc[kFirst + r][p];
        sum = add_block(sum, low[r][p], high[r][p], scale, row(r));
      }
    }
  }

  /// A place behind `p`, if there is one.
  static const char* at(const char* p, int offset) {
    return p == nullptr ? nullptr : p + offset;
  }

  static void run(const Tile& t) {
    Acc acc[R][P];
    begin_tile<Op>(t, acc);
    const char* step = t.w;
    const char* x = t.x;
    Walk walk = *t.walk;
    const std::int64_t walk_lines = divide_up(t.walk_lines, kLayout.blocks);
    for (std::int64_t left = t.steps * kLayout.lines; left > 0; left -= kLayout.lines) {
      const char* near = ahead(t, step, left, t.near_lines);
      const char* far = ahead(t, step, left, t.far_lines);
      // The scales' lines; those of the values one block's at a time.
      constexpr int kScaleLines = kLayout.lines - kLayout.blocks * kLayout.block_lines;
      prefetch_lines<P, kScaleLines, 3>(t, at(near, quant_scales_at(kLayout)));
      prefetch_lines<P, kScaleLines, 2>(t, at(far, quant_scales_at(kLayout)));
      for (int i = 0; i < kLayout.blocks; ++i) {
        const int values_at = quant_values_at(kLayout, i);
        walk.template prefetch<kWalkLevel>(walk_lines);
        prefetch_lines<P, kLayout.block_lines, 3>(t, at(near, values_at));
        prefetch_lines<P, kLayout.block_lines, 2>(t, at(far, values_at));
        block(t, acc, step + values_at, step, i, x + i * kQuantBlockBytes);
      }
      step += 64 * kLayout.lines;
      x += kLayout.blocks * kQuantBlockBytes;
    }
    *t.walk = walk;
    finish_tile<Op>(t, acc);
  }
};

/// Beyond 12 rows only 8 bits gain by streaming; tall tiles of the others only take time to compile.
template <class Op, class Format>
struct QuantShape : Op {
  static constexpr int kMaxRows = Format::layout.block_lines == 8 || Op::kMaxRows <= 12 ? Op::kMaxRows : 12;
};

template <class Op, class Format>
struct QuantTiles : QuantShape<Op, Format> {
  static constexpr int kRowGrain = 1;
  static constexpr int kStepGrain = 1;
  static constexpr QuantLayout kLayout = Format::layout;
  static constexpr int kStepLines = kLayout.lines;
  static constexpr int kStepX = kLayout.blocks * kQuantBlockBytes;
  struct Kernels {
    template <int R, int P>
    static constexpr TileKernel kernel = QuantTile<Op, Format, R, P>::run;
  };
  static constexpr TileTable<QuantShape<Op, Format>, Kernels> kTable{};
  void run(const Tile& tile, std::int64_t rows, std::int64_t panels) { kTable.at(rows, panels)(tile); }
};

/// The product of a kind, known when it runs.
template <template <class> class TilesOf>
void run_quantized(QuantKind kind, const GemmTask& task) {
  switch (kind) {
    case QuantKind::Bytes:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Bytes>>>(task);
    case QuantKind::BytesMin:
      return run_blocked<TilesOf<QuantFormat<QuantKind::BytesMin>>>(task);
    case QuantKind::BytesK:
      return run_blocked<TilesOf<QuantFormat<QuantKind::BytesK>>>(task);
    case QuantKind::Nibbles:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Nibbles>>>(task);
    case QuantKind::NibblesMin:
      return run_blocked<TilesOf<QuantFormat<QuantKind::NibblesMin>>>(task);
    case QuantKind::NibblesK:
      return run_blocked<TilesOf<QuantFormat<QuantKind::NibblesK>>>(task);
    case QuantKind::Six:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Six>>>(task);
    case QuantKind::Two:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Two>>>(task);
    case QuantKind::Three:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Three>>>(task);
    case QuantKind::Curve:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Curve>>>(task);
    case QuantKind::CurveK:
      return run_blocked<TilesOf<QuantFormat<QuantKind::CurveK>>>(task);
    case QuantKind::Fp4:
      return run_blocked<TilesOf<QuantFormat<QuantKind::Fp4>>>(task);
  }
}

}  // namespace
}  // namespace augur
