#pragma once
// The attention of one item, shared by all variants. Included by files that are compiled for different
// instruction sets, so everything here has internal linkage (see gemm_task.h).
//
// 1. Scores of all queries with all slots up to the last one seen, tiles of queries x panels of 16 slots: a
//    small GEMM, in which neighbours of a tree share every load of K. Rows then pick the slots they see.
// 2. Softmax of each query over its logical positions.
// 3. Weighted sums of values: the prefix that all rows share as a GEMM with tiles of queries x 16 columns,
//    the rest of each row (an odd position, ancestors, itself) going on with the same chains.
//
// `L` has the 16-lane vectors of an instruction set, `M` the product of units:
//   M::Op op(units)        an operand of the product, made once per load
//   F mac(acc, Op, Op)     acc + product: one fused step, or in BF16 two, the odd element's first
#include <cstdint>

#include "kernels/cpu/attention_item.h"
#include "kernels/kv_page.h"

namespace augur {
namespace {

/// Kernels use 16 lanes whatever the register size, so that results do not depend on it.
constexpr int kLanes = 16;

template <class L>
struct MacF32 {
  using Op = typename L::F;
  static constexpr int kUnit = 1;
  static constexpr int kScoreRows = L::kRowsF32, kScorePanels = L::kPanelsF32;
  static constexpr int kSumRows = L::kSumRowsF32, kSumColumns = L::kSumColumnsF32;
  static Op op(typename L::U units) { return L::as_float(units); }
  static typename L::F mac(typename L::F acc, Op a, Op b) { return L::fma(a, b, acc); }
};

/// BF16 without an instruction for it: both elements as float32. Their product is exact, so that fusing the
/// multiplication with the addition or not is the same.
template <class L>
struct MacBf16 {
  struct Op {
    typename L::F even, odd;
  };
  static constexpr int kUnit = 2;
  static constexpr int kScoreRows = L::kRowsBf16, kScorePanels = L::kPanelsBf16;
  static constexpr int kSumRows = L::kSumRowsBf16, kSumColumns = L::kSumColumnsBf16;
  static Op op(typename L::U units) { return {L::even(units), L::odd(units)}; }
  static typename L::F mac(typename L::F acc, Op a, Op b) {
    return L::exact_mac(a.even, b.even, L::exact_mac(a.odd, b.odd, acc));
  }
};

template <class L, class M>
struct Attention {
  using F = typename L::F;
  using U = typename L::U;
  using Op = typename M::Op;
  static constexpr int kUnit = M::kUnit;

  const AttentionItem& item;
  int queries;
  int units;                ///< of head_dim
  std::int64_t first_rest;  ///< logical positions below it are the shared prefix, in the same slots
  AttentionScratch size;
  float* q;       ///< [queries, query_units] units
  float* scores;  ///< [queries, score_stride]
  float* sums;    ///< [queries, sum_stride]

  explicit Attention(const AttentionItem& work)
      : item(work),
        queries(work.rows * work.heads),
        units(work.head_dim / kUnit),
        first_rest(contiguous(0)),
        size(work.slots, work.head_dim) {
    for (int r = 1; r < item.rows; ++r) {
      if (contiguous(r) < first_rest) first_rest = contiguous(r);
    }
    first_rest -= first_rest % kUnit;
    q = reinterpret_cast<float*>(item.scratch);
    scores = q + queries * size.query_units;
    sums = scores + queries * size.score_stride;
  }

  void run() {
    convert_queries();
    score();
    for (int i = 0; i < queries; ++i) softmax(i);
    sum_prefix();
    for (int r = 0; r < item.rows; ++r) sum_rest(r);
  }

  // Slots and positions are counted from the first slot of the item's pages.
  std::int64_t contiguous(int row) const { return item.contiguous[row] - item.skipped; }
  /// Slots that are yet absolute.
  const std::int32_t* gathered(int row) const {
    return item.gather_begin == nullptr ? nullptr : item.gather + item.gather_begin[row];
  }
  std::int64_t length(int row) const {
    const std::int64_t gathers =
        item.gather_begin == nullptr ? 0 : item.gather_begin[row + 1] - item.gather_begin[row];
    return contiguous(row) + gathers;
  }

  void convert_queries() {
    for (int i = 0; i < queries; ++i) {
      const float* from = item.q + i / item.heads * item.q_stride + i % item.heads * item.head_dim;
      float* to = q + i * size.query_units;
      int c = 0;
      if constexpr (kUnit == 2) {
        for (; c + 2 * kLanes <= item.head_dim; c += 2 * kLanes) {
          L::store_bf16(to + c / 2, L::load(from + c), L::load(from + c + kLanes));
        }
        for (; c < item.head_dim; c += 2) {
          float pair[2 * kLanes] = {from[c], from[c + 1]};
          float rounded[kLanes];
          L::store_bf16(rounded, L::load(pair), L::load(pair + kLanes));
          __builtin_memcpy(to + c / 2, rounded, sizeof(float));
        }
      } else {
        __builtin_memcpy(to, from, sizeof(float) * static_cast<unsigned>(item.head_dim));
      }
    }
  }

  const char* keys(std::int64_t panel) const {
    constexpr std::int64_t kPanels = kKvPageSlots / kLanes;
    return item.pages[panel / kPanels] + item.k + panel % kPanels * units * 64;
  }
  const char* values(std::int64_t unit, int column) const {
    constexpr std::int64_t kUnits = kKvPageSlots / kUnit;
    return item.pages[unit / kUnits] + item.v + (unit % kUnits * item.head_dim + column) * 4;
  }

  /// Pages lie apart, and the hardware does not foresee which is next.
  static constexpr std::int64_t kAheadBytes = 4096;

  // 1. Scores

  /// Fetches a panel that is wanted soon.
  void fetch_keys(std::int64_t panel, std::int64_t panels) const {
    if (panel >= panels) return;
    const char* k = keys(panel);
    for (int u = 0; u < units; ++u) __builtin_prefetch(k + u * 64);
  }

  template <int R, int P>
  void score_tile(int query, std::int64_t panel) const {
    F acc[R][P];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) acc[r][p] = L::zero();
    const float* x = q + query * size.query_units;
    const char* k[P];
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) k[p] = keys(panel + p);
    for (int u = 0; u < units; ++u) {
      Op key_units[P];
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) key_units[p] = M::op(L::load_units(k[p] + u * 64));
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Op query_unit = M::op(L::splat_unit(x + r * size.query_units + u));
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) acc[r][p] = M::mac(acc[r][p], query_unit, key_units[p]);
      }
    }
    float* out = scores + query * size.score_stride + panel * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) L::store(out + r * size.score_stride + p * kLanes, acc[r][p]);
  }

  template <int R>
  void score_rows(int rows, int query, std::int64_t panels) const {
    if (rows == R) {
      std::int64_t p = 0;
      for (; p + M::kScorePanels <= panels; p += M::kScorePanels) {
        if (query == 0) {
          for (int i = 0; i < M::kScorePanels; ++i) fetch_keys(p + M::kScorePanels + i, panels);
        }
        score_tile<R, M::kScorePanels>(query, p);
      }
      for (; p < panels; ++p) score_tile<R, 1>(query, p);
    } else if constexpr (R > 1) {
      score_rows<R - 1>(rows, query, panels);
    }
  }

  void score() const {
    const std::int64_t panels = attention_round_up(item.slots, kLanes) / kLanes;
    for (int i = 0; i < queries; i += M::kScoreRows) {
      score_rows<M::kScoreRows>(queries - i < M::kScoreRows ? queries - i : M::kScoreRows, i, panels);
    }
  }

  // 2. Softmax

  /// 2^x for x in [-100, 0] or a little above; 0 below. The polynomials are minimax on [-1/2, 1/2]; what BF16
  /// will round to 8 bits needs fewer terms.
  template <bool coarse = kUnit == 2>
  static F exp2(F x) {
    const F magic = L::splat(0x1.8p23f);  // adding it rounds to an integer, found in the low bits
    const F shifted = L::add(x, magic);
    const F f = L::sub(x, L::sub(shifted, magic));
    F p;
    if constexpr (coarse) {
      p = L::fma(L::splat(0x1.3997d6p-7f), f, L::splat(0x1.ca1442p-5f));
      p = L::fma(p, f, L::splat(0x1.ec06dap-3f));
      p = L::fma(p, f, L::splat(0x1.62e0dcp-1f));
      p = L::fma(p, f, L::splat(0x1.ffffe8p-1f));
    } else {
      p = L::fma(L::splat(0x1.5c08e6p-10f), f, L::splat(0x1.3d0c54p-7f));
      p = L::fma(p, f, L::splat(0x1.c6b6e4p-5f));
      p = L::fma(p, f, L::splat(0x1.ebf918p-3f));
      p = L::fma(p, f, L::splat(0x1.62e428p-1f));
      p = L::fma(p, f, L::splat(0x1.000002p+0f));
    }
    return L::zero_unless_at_least(x, L::splat(-100.0f), L::scale_by_power(p, shifted));
  }

  /// Lanes folded 8+8, 4+4, 2+2, 1+1.
  static float fold_sum(F v) {
    v = L::add(v, L::template swap<8>(v));
    v = L::add(v, L::template swap<4>(v));
    v = L::add(v, L::template swap<2>(v));
    v = L::add(v, L::template swap<1>(v));
    return L::first_lane(v);
  }
  static float fold_max(F v) {
    v = L::max(v, L::template swap<8>(v));
    v = L::max(v, L::template swap<4>(v));
    v = L::max(v, L::template swap<2>(v));
    v = L::max(v, L::template swap<1>(v));
    return L::first_lane(v);
  }

  /// cap * tanh(x * cap_scale), of the absolute value with the sign put back.
  F capped(F x) const {
    const F scaled = L::mul(x, L::splat(item.cap_scale));
    const F negative = L::sub(L::zero(), scaled);
    const F t = exp2<false>(L::mul(L::max(scaled, negative), L::splat(-2.885390081777927f)));
    const F one = L::splat(1.0f);
    const F tanh = L::div(L::mul(L::splat(item.cap), L::sub(one, t)), L::add(one, t));
    return L::sub(L::zero_unless_at_least(scaled, L::zero(), tanh),
                  L::zero_unless_at_least(negative, L::zero(), tanh));
  }

  void softmax(int query) const {
    const int row = query / item.heads;
    float* s = scores + query * size.score_stride;
    const std::int64_t gathers_from = contiguous(row);
    const std::int64_t n = length(row);
    const std::int32_t* slots = gathered(row);
    // Slots ascend from there on, so none is overwritten before it is read.
    for (std::int64_t j = gathers_from; j < n; ++j) s[j] = s[slots[j - gathers_from] - item.skipped];
    if (item.cap > 0.0f) {
      for (std::int64_t j = 0; j < n; j += kLanes) L::store(s + j, capped(L::load(s + j)));
    }
    for (std::int64_t j = 0; item.window > 0 && j < n - item.window; ++j) s[j] = -__builtin_inff();
    const std::int64_t padded = attention_round_up(n, 2 * kLanes);
    L::store(s + n, L::splat(-__builtin_inff()));
    L::store(s + n + kLanes, L::splat(-__builtin_inff()));

    F max0 = L::load(s);
    F max1 = L::load(s + kLanes);
    for (std::int64_t j = 2 * kLanes; j < padded; j += 2 * kLanes) {
      max0 = L::max(max0, L::load(s + j));
      max1 = L::max(max1, L::load(s + j + kLanes));
    }
    float max = fold_max(L::max(max0, max1));
    const float sink =
        item.sinks == nullptr ? -__builtin_inff() : item.sinks[query % item.heads] * item.sink_scale;
    if (sink > max) max = sink;

    const F scale = L::splat(item.log2_scale);
    const F shift = L::splat(-max * item.log2_scale);
    F total = L::zero();
    if constexpr (kUnit == 2) {
      const Op ones = M::op(L::bf16_ones());
      for (std::int64_t j = 0; j < padded; j += 2 * kLanes) {
        const F p0 = exp2(L::fma(L::load(s + j), scale, shift));
        const F p1 = exp2(L::fma(L::load(s + j + kLanes), scale, shift));
        L::store_bf16(s + j / 2, p0, p1);
        total = M::mac(total, M::op(L::load_units(s + j / 2)), ones);
      }
    } else {
      for (std::int64_t j = 0; j < padded; j += kLanes) {
        const F p = exp2(L::fma(L::load(s + j), scale, shift));
        L::store(s + j, p);
        total = L::add(total, p);
      }
    }
    // Kept where nothing reads any more: behind the probabilities.
    float sum = fold_sum(total);
    if (item.sinks != nullptr) sum += L::first_lane(exp2<false>(L::fma(L::splat(sink), scale, shift)));
    s[size.score_stride - 1] = 1.0f / sum;
  }

  // 3. Sums

  template <bool Part>
  static U load_columns(const char* p, int columns) {
    if constexpr (Part) return L::load_units_part(p, columns);
    return L::load_units(p);
  }

  template <int R, int C, bool Part>
  void prefix_tile(int query, int column) const {
    F acc[R][C];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) acc[r][c] = L::zero();
    const float* p = scores + query * size.score_stride;
    const std::int64_t count = first_rest / kUnit;
    for (std::int64_t u = 0; u < count;) {
      const std::int64_t page_end = u + kKvPageSlots / kUnit;
      const char* v = values(u, column);
      for (; u < count && u < page_end; ++u, v += std::int64_t{item.head_dim} * 4) {
        if (query == 0) {
          const std::int64_t ahead = u + kAheadBytes / 4 / item.head_dim;
          if (ahead < count) {
            const char* next = values(ahead, column);
#pragma GCC unroll 16
            for (int c = 0; c < C; ++c) __builtin_prefetch(next + c * 64);
          }
        }
        Op columns[C];
#pragma GCC unroll 16
        for (int c = 0; c < C; ++c)
          columns[c] = M::op(load_columns<Part>(v + c * 64, item.head_dim - column));
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const Op weight = M::op(L::splat_unit(p + r * size.score_stride + u));
#pragma GCC unroll 16
          for (int c = 0; c < C; ++c) acc[r][c] = M::mac(acc[r][c], weight, columns[c]);
        }
      }
    }
    float* out = sums + query * size.sum_stride + column;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) L::store(out + r * size.sum_stride + c * kLanes, acc[r][c]);
  }

  /// Values of the logical unit u (>= first_rest / kUnit) of a row. The partner of an odd last position is 0.
  template <bool Part>
  U rest_values(std::int64_t u, int column, std::int64_t contiguous, const std::int32_t* slots,
                std::int64_t n) const {
    const auto slot = [&](std::int64_t j) {
      return j < contiguous ? j : slots[j - contiguous] - item.skipped;
    };
    const int columns = item.head_dim - column;
    const std::int64_t a = slot(u * kUnit);
    const U first = load_columns<Part>(values(a / kUnit, column), columns);
    if constexpr (kUnit == 1) return first;
    if (u * kUnit + 1 >= n) return L::join(first, a % 2, L::zero_units(), 0);
    const std::int64_t b = slot(u * kUnit + 1);
    return L::join(first, a % 2, load_columns<Part>(values(b / kUnit, column), columns), b % 2);
  }

  template <int R, int C, bool Part>
  void rest_tile(int row, int head, int column) const {
    const int query = row * item.heads + head;
    const float* p = scores + query * size.score_stride;
    const float* from = sums + query * size.sum_stride + column;
    F acc[R][C];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) acc[r][c] = L::load(from + r * size.sum_stride + c * kLanes);
    const std::int64_t contiguous = this->contiguous(row);
    const std::int64_t n = length(row);
    const std::int32_t* slots = gathered(row);
    for (std::int64_t u = first_rest / kUnit; u * kUnit < n; ++u) {
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        const Op values_op = M::op(rest_values<Part>(u, column + c * kLanes, contiguous, slots, n));
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          acc[r][c] = M::mac(acc[r][c], M::op(L::splat_unit(p + r * size.score_stride + u)), values_op);
        }
      }
    }
    const std::int64_t out = row * item.out_stride + std::int64_t{head} * item.head_dim + column;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const F inverse = L::splat(p[(r + 1) * size.score_stride - 1]);
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        const F result = L::mul(acc[r][c], inverse);
        const int lanes = Part ? item.head_dim - column : kLanes;
        const std::int64_t at = out + r * item.head_dim + c * kLanes;
        item.out_bf16 ? L::store_bf16_part(item.out + 2 * at, result, lanes)
                      : L::store_part(reinterpret_cast<float*>(item.out) + at, result, lanes);
      }
    }
  }

  /// Calls tile(R, C, Part) for all columns.
  template <class Tile>
  void for_columns(const Tile& tile) const {
    int column = 0;
    for (; column + kLanes * M::kSumColumns <= item.head_dim; column += kLanes * M::kSumColumns) {
      tile.template run<M::kSumColumns, false>(column);
    }
    for (; column + kLanes <= item.head_dim; column += kLanes) tile.template run<1, false>(column);
    if (column < item.head_dim) tile.template run<1, true>(column);
  }

  template <int R>
  struct PrefixTiles {
    const Attention& a;
    int query;
    template <int C, bool Part>
    void run(int column) const {
      a.template prefix_tile<R, C, Part>(query, column);
    }
  };

  template <int R>
  struct RestTiles {
    const Attention& a;
    int row, head;
    template <int C, bool Part>
    void run(int column) const {
      a.template rest_tile<R, C, Part>(row, head, column);
    }
  };

  template <int R>
  void prefix_rows(int rows, int query) const {
    if (rows == R) {
      for_columns(PrefixTiles<R>{*this, query});
    } else if constexpr (R > 1) {
      prefix_rows<R - 1>(rows, query);
    }
  }

  template <int R>
  void rest_heads(int heads, int row, int head) const {
    if (heads == R) {
      for_columns(RestTiles<R>{*this, row, head});
    } else if constexpr (R > 1) {
      rest_heads<R - 1>(heads, row, head);
    }
  }

  void sum_prefix() const {
    for (int i = 0; i < queries; i += M::kSumRows) {
      prefix_rows<M::kSumRows>(queries - i < M::kSumRows ? queries - i : M::kSumRows, i);
    }
  }

  void sum_rest(int row) const {
    for (int h = 0; h < item.heads; h += M::kSumRows) {
      rest_heads<M::kSumRows>(item.heads - h < M::kSumRows ? item.heads - h : M::kSumRows, row, h);
    }
  }
};

}  // namespace
}  // namespace augur
