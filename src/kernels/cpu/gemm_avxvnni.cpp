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

  // u as QuantKind has it: 16 times a nibble, 4 times six bits.
  static __m256i upper(__m256i b) { return _mm256_and_si256(b, _mm256_set1_epi8(static_cast<char>(0xf0))); }
  static Bytes high_nibbles(Bytes b) { return {upper(b.low), upper(b.high)}; }
  static Bytes low_nibbles(Bytes b) {
    return {upper(_mm256_slli_epi16(b.low, 4)), upper(_mm256_slli_epi16(b.high, 4))};
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
