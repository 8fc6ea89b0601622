#if defined(__x86_64__)
// Quantised products with AVX2: VPMADDUBSW adds pairs of products of an unsigned and a signed byte in 16 bits
// and saturates. Weights of 2 to 6 bits enter as they are, without QuantLayout's unit, and leave room in
// these 16 bits for the sums of 2 to 8 lines, so that widening and scaling to QuantKind's u (VPMADDWD) come
// once for so many. Weights of 8 bits give their magnitude (at most 128) and x the sign; there is room for
// one line.
#include "kernels/cpu/quant256.h"

namespace augur {

namespace {

struct Avx2 : Quant256 {
  struct Int {
    Ints256 pairs;  ///< sums of 16 bits, not yet times the layout's unit
    Ints256 sum;    ///< of 32 bits
  };
  static Int int_magic() { return {zeros(), magic()}; }
  static Int int_sub(Int a, Int b) { return {zeros(), difference(a.sum, b.sum)}; }
  static Acc as_float(Int v) { return bits(v.sum); }

  template <QuantLayout kLayout>
  static Int start(const char* p) {
    if constexpr (quant_has_8_bits(kLayout)) return int_magic();  // u - 128 is multiplied, not u
    return {zeros(), {load_x(p), load_x(p)}};
  }

  static __m256i dot_8_bits(__m256i sum, __m256i u, __m256i x) {
    const __m256i v = _mm256_xor_si256(u, _mm256_set1_epi8(static_cast<char>(0x80)));
    return widened(sum, _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(x, v)), 1);
  }
  static __m256i widened(__m256i sum, __m256i pairs, short unit) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(unit)));
  }
  static __m256i dot_few_bits(__m256i pairs, __m256i w, __m256i x) {
    return _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w, x));
  }
  template <QuantLayout kLayout>
  static Int dot(Int v, Bytes w, X x) {
    if constexpr (quant_has_8_bits(kLayout)) {
      v.sum = {dot_8_bits(v.sum.low, w.low, x), dot_8_bits(v.sum.high, w.high, x)};
    } else {
      v.pairs = {dot_few_bits(v.pairs.low, w.low, x), dot_few_bits(v.pairs.high, w.high, x)};
    }
    return v;
  }
  /// 4-bit floats as they enter: their table is all multiples of the unit.
  static constexpr int kFp4Unit = 8;
  static constexpr std::uint8_t kFp4[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
  /// The largest weight, in what it enters as.
  static constexpr int largest(const QuantLayout& layout) {
    if (layout.table == QuantTable::Fp4) return 28;
    return layout.block_lines == 2   ? 3
           : layout.block_lines == 3 ? 7
           : layout.block_lines == 4 ? 15
           : layout.block_lines == 6 ? 63
                                     : 31;
  }
  /// For how many pairs of lines 16 bits have room: x is at most 127.
  static constexpr int pairs_of_lines(const QuantLayout& layout) {
    const int pair = (layout.halves ? 1 : 2) * 2 * 127 * largest(layout);
    return 4 * pair <= INT16_MAX ? 4 : 2 * pair <= INT16_MAX ? 2 : 1;
  }
  template <QuantLayout kLayout>
  static Int fold(Int v, int u) {
    if constexpr (quant_has_8_bits(kLayout)) return v;
    constexpr int kPairs = pairs_of_lines(kLayout);
    if ((u + 1) % kPairs != 0) return v;
    constexpr short kUnit = kLayout.table == QuantTable::Fp4 ? kFp4Unit : kLayout.unit;
    return {zeros(), {widened(v.sum.low, v.pairs.low, kUnit), widened(v.sum.high, v.pairs.high, kUnit)}};
  }

  static Bytes low_nibbles(Bytes b) { return plain_low_nibbles(b); }
  static Bytes high_nibbles(Bytes b) { return plain_high_nibbles(b); }
  /// The table, or what 4-bit floats enter as.
  template <QuantTable kTable>
  static constexpr const std::uint8_t* kEntered = kTable == QuantTable::Fp4 ? kFp4 : quant_table(kTable);
  template <QuantTable kTable>
  static Bytes low_looked_up(Bytes b) {
    return looked_up(kEntered<kTable>, plain_low_nibbles(b));
  }
  template <QuantTable kTable>
  static Bytes high_looked_up(Bytes b) {
    return looked_up(kEntered<kTable>, plain_high_nibbles(b));
  }
  static __m256i three_bits(__m256i pairs, __m256i third, int u, int at) {
    const __m256i high = at >= 2 ? _mm256_srli_epi16(third, at - 2) : _mm256_slli_epi16(third, 2 - at);
    return _mm256_or_si256(two_bits(pairs, u), _mm256_and_si256(high, _mm256_set1_epi8(4)));
  }
  static Bytes three_bits(Bytes pairs, Bytes third, int u, int at) {
    return {three_bits(pairs.low, third.low, u, at), three_bits(pairs.high, third.high, u, at)};
  }
  using Quant256::two_bits;
  static __m256i six_bits(__m256i nibble, __m256i pairs, int u) {
    const __m256i high = u == 3 ? _mm256_srli_epi16(pairs, 2) : _mm256_slli_epi16(pairs, 4 - 2 * u);
    return _mm256_or_si256(nibble, _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
  }
  static Bytes six_bits(Bytes nibble, Bytes pairs, int u) {
    return {six_bits(nibble.low, pairs.low, u), six_bits(nibble.high, pairs.high, u)};
  }
};

template <class Format>
using Tiles = QuantTiles<Avx2, Format>;

}  // namespace

void gemm_quant_avx2(QuantKind kind, const GemmTask& task) {
  run_quantized<Tiles>(kind, task);
}

// Operands that never change would leave the loop, so the sums are operands. What the signs of 8 bits take is
// not counted: a faster way may be found.
std::int64_t peak_quant_avx2(std::int64_t rounds, float* sink) {
  return peak_quant256(rounds, sink,
                       [](__m256i sum, __m256i w, __m256i) { return Avx2::dot_few_bits(sum, w, sum); });
}

std::int64_t peak_quant_avx2_8_bits(std::int64_t rounds, float* sink) {
  return peak_quant256(rounds, sink, [](__m256i sum, __m256i w, __m256i) {
    return Avx2::widened(sum, _mm256_maddubs_epi16(w, sum), 1);
  });
}

}  // namespace augur
#endif
