#if defined(__x86_64__)
// Quantised products with AVX2: VPMADDUBSW adds pairs of products of an unsigned and a signed byte in 16 bits
// and saturates. Weights of 4, 5 and 6 bits enter as they are and leave room in these 16 bits for the sums of
// 8, 4 and 2 lines, so that widening and scaling to QuantKind's u (VPMADDWD) come once for so many. Weights
// of 8 bits give their magnitude (at most 128) and x the sign; there is room for one line.
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

  static constexpr bool has_8_bits(const QuantLayout& layout) {
    return layout.block_lines == 8 && !layout.minimum;
  }
  template <QuantLayout kLayout>
  static Int start(const char* p) {
    if constexpr (has_8_bits(kLayout)) return int_magic();  // u - 128 is multiplied, not u
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
    if constexpr (has_8_bits(kLayout)) {
      v.sum = {dot_8_bits(v.sum.low, w.low, x), dot_8_bits(v.sum.high, w.high, x)};
    } else {
      v.pairs = {dot_few_bits(v.pairs.low, w.low, x), dot_few_bits(v.pairs.high, w.high, x)};
    }
    return v;
  }
  /// x is at most 127: 15 * 127 * 2 * 8 lines, 31 * 127 * 2 * 4 and 63 * 127 * 2 * 2 fit.
  template <QuantLayout kLayout>
  static Int fold(Int v, int u) {
    if (has_8_bits(kLayout)) return v;
    const bool is_full = kLayout.block_lines == 4 ? u == 3 : u % 2 == 1;
    if (!is_full) return v;
    return {zeros(),
            {widened(v.sum.low, v.pairs.low, kLayout.unit), widened(v.sum.high, v.pairs.high, kLayout.unit)}};
  }

  static __m256i nibble(__m256i b) { return _mm256_and_si256(b, _mm256_set1_epi8(0x0f)); }
  static Bytes low_nibbles(Bytes b) { return {nibble(b.low), nibble(b.high)}; }
  static Bytes high_nibbles(Bytes b) {
    return {nibble(_mm256_srli_epi16(b.low, 4)), nibble(_mm256_srli_epi16(b.high, 4))};
  }
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
