#pragma once
#include <immintrin.h>

#include "kernels/cpu/attention_blocked.h"

namespace augur {
namespace {

struct Avx512 {
  using F = __m512;
  using U = __m512i;
  static constexpr int kRowsF32 = 8, kPanelsF32 = 3, kSumRowsF32 = 6, kSumColumnsF32 = 4;
  static constexpr int kRowsBf16 = 8, kPanelsBf16 = 2, kSumRowsBf16 = 5, kSumColumnsBf16 = 4;

  static F zero() { return _mm512_setzero_ps(); }
  static U zero_units() { return _mm512_setzero_si512(); }
  static F splat(float v) { return _mm512_set1_ps(v); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static __mmask16 lanes_below(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
  static void store_part(float* p, F a, int n) { _mm512_mask_storeu_ps(p, lanes_below(n), a); }
  /// Signed bytes as floats.
  static F load_bytes(const void* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
  }
  /// p[0], p[1], p[0], p[1], ...
  static F splat_pair(const float* p) {
    double pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return _mm512_castpd_ps(_mm512_set1_pd(pair));
  }
  static U load_units(const void* p) { return _mm512_loadu_si512(p); }
  static U load_units_part(const void* p, int n) { return _mm512_maskz_loadu_epi32(lanes_below(n), p); }
  static U splat_unit(const float* p) { return _mm512_castps_si512(_mm512_set1_ps(*p)); }
  static U bf16_ones() { return _mm512_set1_epi32(0x3f803f80); }
  static F as_float(U u) { return _mm512_castsi512_ps(u); }
  static F even(U u) { return as_float(_mm512_slli_epi32(u, 16)); }
  static F odd(U u) {
    return as_float(_mm512_and_si512(u, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static U join(U a, std::int64_t a_odd, U b, std::int64_t b_odd) {
    const U low = a_odd != 0 ? _mm512_srli_epi32(a, 16) : a;
    const U high = b_odd != 0 ? b : _mm512_slli_epi32(b, 16);
    return _mm512_mask_blend_epi16(0xaaaaaaaau, low, high);
  }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  /// Lane i gets lane i ^ distance.
  template <int distance>
  static F swap(F a) {
    if constexpr (distance == 8) return _mm512_shuffle_f32x4(a, a, 0x4e);
    if constexpr (distance == 4) return _mm512_shuffle_f32x4(a, a, 0xb1);
    return _mm512_permute_ps(a, distance == 2 ? 0x4e : 0xb1);
  }
  static float first_lane(F a) { return _mm512_cvtss_f32(a); }
  static F zero_unless_at_least(F x, F limit, F p) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_GE_OQ), p);
  }
  static F scale_by_power(F p, F shifted) {
    const U power = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return as_float(_mm512_add_epi32(_mm512_castps_si512(p), power));
  }

  /// to_bf16() of every lane.
  static __m256i round(F v) {
    const U bits = _mm512_castps_si512(v);
    const U odd_bit = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const U up = _mm512_add_epi32(odd_bit, _mm512_set1_epi32(0x7fff));
    const U rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, up), 16);
    const U quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(
        _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), quiet));
  }
  static void store_bf16(void* out, F low, F high) {
    auto* to = static_cast<__m256i*>(out);
    _mm256_storeu_si256(to, round(low));
    _mm256_storeu_si256(to + 1, round(high));
  }
  static void store_bf16_part(void* out, F a, int n) {
    _mm256_mask_storeu_epi16(out, lanes_below(n), round(a));
  }
};

}  // namespace
}  // namespace augur
