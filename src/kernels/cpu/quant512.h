#pragma once
#include <immintrin.h>

#include "kernels/cpu/gemm_quant.h"
#include "kernels/cpu/vector512.h"

namespace augur {
namespace {

/// AVX512-VNNI: one register is one row of one panel.
struct Vnni512 {
  static constexpr int kMaxRows = 16;
  static constexpr int kBlockRows = 6;
  static constexpr int kMaxPanels = 4;
  /// Every value of x that is loaded meets two panels at least: with one, loading it (two a cycle) takes as
  /// long as multiplying, and 8 to 12 rows took a fifth to a third longer on Sapphire Rapids.
  static constexpr int panels(int rows) { return rows <= 4 ? 4 : 2; }
  /// Integer sums and the weights of a line fit into 32 registers.
  static constexpr int rows_at_once(int panels) { return 24 / panels; }
  using Acc = __m512;
  using Int = __m512i;
  using Bytes = __m512i;
  using X = __m512i;
  static Acc zero() { return _mm512_setzero_ps(); }
  static Acc load_acc(const float* p) { return _mm512_loadu_ps(p); }
  static void store_acc(float* p, Acc v) { _mm512_storeu_ps(p, v); }
  static Acc add(Acc a, Acc b) { return _mm512_add_ps(a, b); }
  static Acc mul(Acc a, Acc b) { return _mm512_mul_ps(a, b); }
  static Acc fma(Acc a, Acc b, Acc c) { return _mm512_fmadd_ps(a, b, c); }
  static Acc neg(Acc a) {
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_set1_epi32(INT32_MIN)));
  }
  static Acc splat(float v) { return _mm512_set1_ps(v); }

  static X load_x(const char* p) { return _mm512_set1_epi32(*reinterpret_cast<const UnalignedInt*>(p)); }
  template <QuantLayout>
  static Int start(const char* p) {
    return load_x(p);
  }
  static Int int_magic() { return _mm512_set1_epi32(kQuantMagic); }
  static Int int_sub(Int a, Int b) { return _mm512_sub_epi32(a, b); }
  template <QuantLayout>
  static Int dot(Int sum, Bytes w, X x) {
    return _mm512_dpbusd_epi32(sum, w, x);
  }
  template <QuantLayout>
  static Int fold(Int sum, int) {
    return sum;
  }
  static Acc as_float(Int v) { return _mm512_castsi512_ps(v); }

  static Bytes load_bytes(const char* p) { return _mm512_loadu_si512(p); }
  /// 16 times a nibble.
  static Bytes high_nibbles(Bytes b) {
    return _mm512_and_si512(b, _mm512_set1_epi8(static_cast<char>(0xf0)));
  }
  static Bytes low_nibbles(Bytes b) { return high_nibbles(_mm512_slli_epi16(b, 4)); }
  /// 4 * (nibble + 16 * bit pair `u` of `upper`), given 16 times the nibble.
  static Bytes six_bits(Bytes nibble16, Bytes upper, int u) {
    const Bytes low = _mm512_srli_epi16(nibble16, 2);
    const Bytes high = u == 3 ? upper : _mm512_slli_epi16(upper, static_cast<unsigned>(6 - 2 * u));
    // Where the mask has ones the pair, else the nibble: f(mask, high, low) = mask ? high : low.
    return _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(0xc0)), high, low, 0xca);
  }

  template <QuantTable kTable>
  static Bytes looked_up(Bytes nibbles) {
    constexpr const std::uint8_t* kValues = quant_table(kTable);
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kValues));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles);
  }
  static Bytes nibbles(Bytes b) { return _mm512_and_si512(b, _mm512_set1_epi8(0x0f)); }
  template <QuantTable kTable>
  static Bytes low_looked_up(Bytes b) {
    return looked_up<kTable>(nibbles(b));
  }
  template <QuantTable kTable>
  static Bytes high_looked_up(Bytes b) {
    return looked_up<kTable>(nibbles(_mm512_srli_epi16(b, 4)));
  }
  static Bytes two_bits(Bytes pairs, int u) {
    return _mm512_and_si512(_mm512_srli_epi16(pairs, static_cast<unsigned>(2 * u)), _mm512_set1_epi8(3));
  }
  /// 32 * (bit pair `u` of `pairs` + 4 * bit `at` of `third`).
  static Bytes three_bits(Bytes pairs, Bytes third, int u, int at) {
    const Bytes low =
        u == 3 ? _mm512_srli_epi16(pairs, 1) : _mm512_slli_epi16(pairs, static_cast<unsigned>(5 - 2 * u));
    const Bytes high = _mm512_and_si512(_mm512_slli_epi16(third, static_cast<unsigned>(7 - at)),
                                        _mm512_set1_epi8(static_cast<char>(0x80)));
    return _mm512_ternarylogic_epi32(_mm512_set1_epi8(0x60), low, high, 0xea);  // (mask & low) | high
  }

  static Acc half16(const char* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Acc byte16(const char* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static Acc signed16(const char* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static Acc low_nibble16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(bytes, _mm_set1_epi8(0x0f))));
  }
  static Acc high_nibble16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(_mm512_cvtepu8_epi32(bytes), 4));
  }
  static Acc power16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i exponents = _mm_subs_epu8(bytes, _mm_set1_epi8(kQuantPowerBias));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(exponents), 23));
  }
};

}  // namespace
}  // namespace augur
