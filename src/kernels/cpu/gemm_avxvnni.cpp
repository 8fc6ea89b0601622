#if defined(__x86_64__)
// Quantised products with AVX-VNNI: as in gemm_vnni512.cpp, in registers of 256 bits.
#include "kernels/cpu/quant256.h"

namespace augur {

namespace {

struct AvxVnni : Quant256 {
  using Int = Ints256;
  static Int int_magic() { return magic(); }
  static Int int_sub(Int a, Int b) { return difference(a, b); }
  template <QuantLayout>
  static Int start(const char* p) {
    return {load_x(p), load_x(p)};
  }
  template <QuantLayout>
  static Int dot(Int sum, Bytes w, X x) {
    return {_mm256_dpbusd_avx_epi32(sum.low, w.low, x), _mm256_dpbusd_avx_epi32(sum.high, w.high, x)};
  }
  template <QuantLayout>
  static Int fold(Int sum, int) {
    return sum;
  }
  static Acc as_float(Int v) { return bits(v); }

  // u as QuantKind has it: 16 times a nibble, 32 times three bits, 4 times six.
  static __m256i upper(__m256i b) { return _mm256_and_si256(b, _mm256_set1_epi8(static_cast<char>(0xf0))); }
  static Bytes high_nibbles(Bytes b) { return {upper(b.low), upper(b.high)}; }
  static Bytes low_nibbles(Bytes b) {
    return {upper(_mm256_slli_epi16(b.low, 4)), upper(_mm256_slli_epi16(b.high, 4))};
  }
  template <QuantTable kTable>
  static constexpr const std::uint8_t* kValues = quant_table(kTable);
  template <QuantTable kTable>
  static Bytes low_looked_up(Bytes b) {
    return looked_up(kValues<kTable>, plain_low_nibbles(b));
  }
  template <QuantTable kTable>
  static Bytes high_looked_up(Bytes b) {
    return looked_up(kValues<kTable>, plain_high_nibbles(b));
  }
  static __m256i three_bits(__m256i pairs, __m256i third, int u, int at) {
    const __m256i low = u == 3 ? _mm256_srli_epi16(pairs, 1) : _mm256_slli_epi16(pairs, 5 - 2 * u);
    const __m256i high = _mm256_slli_epi16(third, 7 - at);
    return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(0x60)),
                           _mm256_and_si256(high, _mm256_set1_epi8(static_cast<char>(0x80))));
  }
  static Bytes three_bits(Bytes pairs, Bytes third, int u, int at) {
    return {three_bits(pairs.low, third.low, u, at), three_bits(pairs.high, third.high, u, at)};
  }
  static __m256i six_bits(__m256i nibble16, __m256i pairs, int u) {
    const __m256i high = u == 3 ? pairs : _mm256_slli_epi16(pairs, 6 - 2 * u);
    return _mm256_or_si256(_mm256_srli_epi16(nibble16, 2),
                           _mm256_and_si256(high, _mm256_set1_epi8(static_cast<char>(0xc0))));
  }
  static Bytes six_bits(Bytes nibble16, Bytes pairs, int u) {
    return {six_bits(nibble16.low, pairs.low, u), six_bits(nibble16.high, pairs.high, u)};
  }
};

template <class Format>
using Tiles = QuantTiles<AvxVnni, Format>;

}  // namespace

void gemm_quant_avxvnni(QuantKind kind, const GemmTask& task) {
  run_quantized<Tiles>(kind, task);
}

std::int64_t peak_quant_avxvnni(std::int64_t rounds, float* sink) {
  return peak_quant256(rounds, sink,
                       [](__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_avx_epi32(sum, w, x); });
}

}  // namespace augur
#endif
