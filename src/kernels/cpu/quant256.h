#pragma once
// What the 256-bit variants of quantised products have in common: one row of one panel is two registers.
#include <immintrin.h>

#include "kernels/cpu/gemm_peak.h"
#include "kernels/cpu/gemm_quant.h"
#include "kernels/cpu/vector256.h"

namespace augur {
namespace {

struct Ints256 {
  __m256i low, high;
};

struct Quant256 : Vector256 {
  static constexpr int kMaxRows = 6;
  static constexpr int kBlockRows = 4;
  static constexpr int kMaxPanels = 4;
  static constexpr int panels(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
  /// Integer sums, a line's weights and a value of x fit into 16 registers.
  static constexpr int rows_at_once(int) { return 4; }

  using Bytes = Ints256;
  using X = __m256i;
  static Acc mul(Acc a, Acc b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  static Acc fma(Acc a, Acc b, Acc c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Acc neg(Acc a) {
    const __m256 sign = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MIN));
    return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
  }
  static Acc splat(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }

  static X load_x(const char* p) { return _mm256_set1_epi32(*reinterpret_cast<const UnalignedInt*>(p)); }
  static Ints256 zeros() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Ints256 difference(Ints256 a, Ints256 b) {
    return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
  }
  static Ints256 magic() { return {_mm256_set1_epi32(kQuantMagic), _mm256_set1_epi32(kQuantMagic)}; }
  static Acc bits(Ints256 v) { return {_mm256_castsi256_ps(v.low), _mm256_castsi256_ps(v.high)}; }

  static Bytes load_bytes(const char* p) {
    const auto* lines = reinterpret_cast<const __m256i_u*>(p);
    return {_mm256_loadu_si256(lines), _mm256_loadu_si256(lines + 1)};
  }

  static __m256i nibble(__m256i b) { return _mm256_and_si256(b, _mm256_set1_epi8(0x0f)); }
  static Bytes plain_low_nibbles(Bytes b) { return {nibble(b.low), nibble(b.high)}; }
  static Bytes plain_high_nibbles(Bytes b) {
    return {nibble(_mm256_srli_epi16(b.low, 4)), nibble(_mm256_srli_epi16(b.high, 4))};
  }
  static Bytes looked_up(const std::uint8_t* table, Bytes nibbles) {
    const __m256i values =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(values, nibbles.low), _mm256_shuffle_epi8(values, nibbles.high)};
  }
  static __m256i two_bits(__m256i pairs, int u) {
    return _mm256_and_si256(_mm256_srli_epi16(pairs, 2 * u), _mm256_set1_epi8(3));
  }
  static Bytes two_bits(Bytes pairs, int u) { return {two_bits(pairs.low, u), two_bits(pairs.high, u)}; }

  static Acc half16(const char* p) {
    const auto* halves = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
  }
  static Acc byte16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  static Acc signed16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  static Acc low_nibble16(const char* p) {
    const __m128i bytes =
        _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), _mm_set1_epi8(0x0f));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  static Acc high_nibble16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_srli_epi32(_mm256_cvtepu8_epi32(bytes), 4)),
            _mm256_cvtepi32_ps(_mm256_srli_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)), 4))};
  }
  static Acc power16(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i exponents = _mm_subs_epu8(bytes, _mm_set1_epi8(kQuantPowerBias));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(exponents), 23)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(exponents, 8)), 23))};
  }
};

/// The multiply rate of `dot`(sum, weights, x): independent chains that never leave the registers.
template <class Dot>
std::int64_t peak_quant256(std::int64_t rounds, float* sink, Dot dot) {
  constexpr int kChains = 12;
  alignas(32) int operands[kChains + 16];
  for (int i = 0; i < kChains + 16; ++i) operands[i] = i;
  const auto load = [&](int i) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(operands + i)); };
  const __m256i x = load(0);
  const __m256i w = load(8);
  const __m256i sum = run_chains<kChains, __m256i>(
      rounds, load, [&](__m256i s) { return dot(s, w, x); },
      [](__m256i a, __m256i b) { return _mm256_add_epi32(a, b); });
  _mm256_storeu_ps(sink, _mm256_cvtepi32_ps(sum));
  return rounds * kChains * 64;
}

}  // namespace
}  // namespace augur
