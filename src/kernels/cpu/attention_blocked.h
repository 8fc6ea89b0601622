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

/// BF16 without an instruction for it: both elements as float32.
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
    return L::fma(a.even, b.even, L::fma(a.odd, b.odd, acc));
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
  // Of an 8-bit cache, as bf16:
  float* key_panels;         ///< those that are being read
  float* value_pages;        ///< the one that is being read, then all from the first that rows differ in
  std::int64_t first_apart;  ///< number of that one

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
    key_panels = sums + queries * size.sum_stride;
    value_pages = key_panels + AttentionScratch::kKeyPanels * units * kLanes;
    first_apart = first_rest / kKvPageSlots;
  }

  void run() {
    convert_queries();
    score();
    fetch_values();
    for (int i = 0; i < queries; ++i) softmax(i);
    sum_prefix();
    if (quantised()) {
      for (std::int64_t page = first_apart; page * kKvPageSlots < item.slots; ++page) {
        value_page(page, page - first_apart + 1);
      }
    }
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

  bool quantised() const { return kUnit == 2 && item.quant_panel > 0; }

  // Where a panel of keys, and a page of values, lies in the cache; 16 slots of an 8-bit cache's values are a
  // panel, too.
  const char* stored_keys(std::int64_t panel) const {
    constexpr std::int64_t kPanels = kKvPageSlots / kLanes;
    return item.pages[panel / kPanels] + item.k + panel % kPanels * key_bytes();
  }
  const char* stored_values(std::int64_t page) const { return item.pages[page] + item.v; }

  static const float* scales(const char* panel, std::int64_t at) {
    return reinterpret_cast<const float*>(panel + at);
  }
  void expand_keys(const char* panel, float* out) const {
    const float* scale = scales(panel, item.quant_scales);
    for (int c = 0; c < item.head_dim; c += 2 * kLanes, scale += kLanes) {
      float twice[2 * kLanes];
      for (int i = 0; i < 2 * kLanes; ++i) twice[i] = scale[i / 2];
      const F low = L::load(twice);
      const F high = L::load(twice + kLanes);
      for (int u = 0; u < kLanes; ++u, panel += 2 * kLanes, out += kLanes) {
        L::store_bf16(out, L::mul(L::load_bytes(panel), low), L::mul(L::load_bytes(panel + kLanes), high));
      }
    }
  }
  void expand_values(const char* panel, float* out) const {
    const float* scale = scales(panel, item.quant_scales);
    for (int pair = 0; pair < kLanes / 2; ++pair) {
      for (int c = 0; c < item.head_dim; c += kLanes, panel += 2 * kLanes, out += kLanes) {
        const F by_turns = L::splat_pair(scale + c / (2 * kLanes) * kLanes + 2 * pair);
        L::store_bf16(out, L::mul(L::load_bytes(panel), by_turns),
                      L::mul(L::load_bytes(panel + kLanes), by_turns));
      }
    }
  }

  /// A panel as products read it. `i`: which of the panels in the buffer it may become.
  const char* keys(std::int64_t panel, int i) const {
    if (!quantised()) return stored_keys(panel);
    float* out = key_panels + i * units * kLanes;
    expand_keys(stored_keys(panel), out);
    return reinterpret_cast<const char*>(out);
  }
  /// A page of values as products read it, likewise; `i`: of the pages in the buffer.
  const char* value_page(std::int64_t page, std::int64_t i) const {
    if (!quantised()) return stored_values(page);
    float* out = value_pages + i * kKvPageSlots / 2 * item.head_dim;
    const std::int64_t slots = item.slots - page * kKvPageSlots;
    for (std::int64_t slot = 0; slot < kKvPageSlots && slot < slots; slot += kLanes) {
      expand_values(stored_values(page) + slot / kLanes * item.quant_panel, out + slot / 2 * item.head_dim);
    }
    return reinterpret_cast<const char*>(out);
  }
  /// A unit from the first page on that rows differ in.
  const char* values_apart(std::int64_t unit, int column) const {
    constexpr std::int64_t kUnits = kKvPageSlots / kUnit;
    const std::int64_t page = unit / kUnits;
    const char* base = quantised()
                           ? reinterpret_cast<const char*>(value_pages + (page - first_apart + 1) *
                                                                             kKvPageSlots / 2 * item.head_dim)
                           : stored_values(page);
    return base + (unit % kUnits * item.head_dim + column) * 4;
  }

  // Pages lie apart, and the hardware does not foresee which is next. What is wanted soon is fetched to the
  // second level: the first cannot wait for so many lines at once.
  static constexpr int kAheadPanels = 12;
  static constexpr int kAheadPages = 3;

  static void fetch(const char* from, std::int64_t bytes) {
    for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, 0, 2);
  }
  std::int64_t key_bytes() const { return quantised() ? item.quant_panel : std::int64_t{units} * 64; }
  /// Of a unit of values, all columns.
  std::int64_t value_bytes() const {
    return quantised() ? item.quant_panel / (kLanes / kUnit) : std::int64_t{item.head_dim} * 4;
  }
  void fetch_keys(std::int64_t panel, std::int64_t panels) const {
    if (panel < panels) fetch(stored_keys(panel), key_bytes());
  }
  /// The first pages of values, while the softmax goes on.
  void fetch_values() const {
    for (int page = 0; page < kAheadPages && page * kKvPageSlots < first_rest; ++page) {
      fetch(stored_values(page), kKvPageSlots / kUnit * value_bytes());
    }
  }

  // 1. Scores

  template <int R, int P>
  void score_tile(int query, std::int64_t panel, const char* const* k) const {
    F acc[R][P];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) acc[r][p] = L::zero();
    const float* x = q + query * size.query_units;
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

  /// Of `rows` queries with `count` panels, which lie at k.
  template <int R>
  void score_rows(int rows, int query, std::int64_t panel, int count, const char* const* k) const {
    if (rows == R) {
      if (count == M::kScorePanels) return score_tile<R, M::kScorePanels>(query, panel, k);
      for (int p = 0; p < count; ++p) score_tile<R, 1>(query, panel + p, k + p);
    } else if constexpr (R > 1) {
      score_rows<R - 1>(rows, query, panel, count, k);
    }
  }

  void score() const {
    static_assert(M::kScorePanels <= AttentionScratch::kKeyPanels);
    const std::int64_t panels = attention_round_up(item.slots, kLanes) / kLanes;
    for (std::int64_t panel = 0; panel < panels; panel += M::kScorePanels) {
      const char* k[M::kScorePanels];
      const int count = static_cast<int>(panels - panel < M::kScorePanels ? panels - panel : M::kScorePanels);
      for (int p = 0; p < count; ++p) {
        fetch_keys(panel + kAheadPanels + p, panels);
        k[p] = keys(panel + p, p);
      }
      for (int i = 0; i < queries; i += M::kScoreRows) {
        score_rows<M::kScoreRows>(queries - i < M::kScoreRows ? queries - i : M::kScoreRows, i, panel, count,
                                  k);
      }
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

  /// Units [begin, end) of the shared prefix, which are in one page: its values.
  struct PrefixPart {
    std::int64_t begin, end;
    const char* values;
    const char* ahead;  ///< what is to be fetched meanwhile, `ahead_bytes` with each unit; null: nothing
    std::int64_t ahead_bytes;
  };

  template <int R, int C, bool Part>
  void prefix_tile(int query, int column, const PrefixPart& part) const {
    float* sum = sums + query * size.sum_stride + column;
    F acc[R][C];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) acc[r][c] = L::load(sum + r * size.sum_stride + c * kLanes);
    const float* p = scores + query * size.score_stride;
    const char* v = part.values + column * 4;
    const bool fetches = query == 0 && column == 0 && part.ahead != nullptr;
    for (std::int64_t u = part.begin; u < part.end; ++u, v += std::int64_t{item.head_dim} * 4) {
      if (fetches) {
        const char* next = part.ahead + (u - part.begin) * part.ahead_bytes;
        fetch(next, part.ahead_bytes);
      }
      Op columns[C];
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) columns[c] = M::op(load_columns<Part>(v + c * 64, item.head_dim - column));
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Op weight = M::op(L::splat_unit(p + r * size.score_stride + u));
#pragma GCC unroll 16
        for (int c = 0; c < C; ++c) acc[r][c] = M::mac(acc[r][c], weight, columns[c]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) L::store(sum + r * size.sum_stride + c * kLanes, acc[r][c]);
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
    const U first = load_columns<Part>(values_apart(a / kUnit, column), columns);
    if constexpr (kUnit == 1) return first;
    if (u * kUnit + 1 >= n) return L::join(first, a % 2, L::zero_units(), 0);
    const std::int64_t b = slot(u * kUnit + 1);
    return L::join(first, a % 2, load_columns<Part>(values_apart(b / kUnit, column), columns), b % 2);
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
    const PrefixPart& part;
    template <int C, bool Part>
    void run(int column) const {
      a.template prefix_tile<R, C, Part>(query, column, part);
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
  void prefix_rows(int rows, int query, const PrefixPart& part) const {
    if (rows == R) {
      for_columns(PrefixTiles<R>{*this, query, part});
    } else if constexpr (R > 1) {
      prefix_rows<R - 1>(rows, query, part);
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
    __builtin_memset(sums, 0, sizeof(float) * static_cast<unsigned>(queries * size.sum_stride));
    constexpr std::int64_t kUnits = kKvPageSlots / kUnit;
    const std::int64_t count = first_rest / kUnit;
    for (std::int64_t u = 0; u < count; u += kUnits) {
      const std::int64_t page = u / kUnits;
      const std::int64_t ahead = page + kAheadPages;
      const PrefixPart part{.begin = u,
                            .end = count - u < kUnits ? count : u + kUnits,
                            .values = value_page(page, 0),
                            .ahead = ahead * kUnits < count ? stored_values(ahead) : nullptr,
                            .ahead_bytes = value_bytes()};
      for (int i = 0; i < queries; i += M::kSumRows) {
        prefix_rows<M::kSumRows>(queries - i < M::kSumRows ? queries - i : M::kSumRows, i, part);
      }
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
