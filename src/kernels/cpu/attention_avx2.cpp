#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/attention_blocked.h"

namespace augur {
namespace {

struct Avx2 {
  struct F {
    __m256 a, b;
  };
  struct U {
    __m256i a, b;
  };
  static constexpr int kRowsF32 = 6, kPanelsF32 = 1, kSumRowsF32 = 3, kSumColumnsF32 = 2;
  static constexpr int kRowsBf16 = 4, kPanelsBf16 = 1, kSumRowsBf16 = 4, kSumColumnsBf16 = 1;

  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static U zero_units() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static F splat(float v) {
    const __m256 s = _mm256_set1_ps(v);
    return {s, s};
  }
  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
  }
  /// Lanes 0..7 and 8..15 below n, as masks for maskload and maskstore.
  static U lanes_below(int n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane),
            _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), lane)};
  }
  static void store_part(float* p, F x, int n) {
    const U mask = lanes_below(n);
    _mm256_maskstore_ps(p, mask.a, x.a);
    _mm256_maskstore_ps(p + 8, mask.b, x.b);
  }
  /// Signed bytes as floats.
  static F load_bytes(const void* p) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)))};
  }
  /// p[0], p[1], p[0], p[1], ...
  static F splat_pair(const float* p) {
    double pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    const __m256 v = _mm256_castpd_ps(_mm256_set1_pd(pair));
    return {v, v};
  }
  static U load_units(const void* p) {
    const auto* v = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
  }
  static U load_units_part(const void* p, int n) {
    const U mask = lanes_below(n);
    const auto* v = static_cast<const int*>(p);
    return {_mm256_maskload_epi32(v, mask.a), _mm256_maskload_epi32(v + 8, mask.b)};
  }
  static U splat_unit(const float* p) {
    const __m256i v = _mm256_castps_si256(_mm256_broadcast_ss(p));
    return {v, v};
  }
  static U bf16_ones() {
    const __m256i v = _mm256_set1_epi32(0x3f803f80);
    return {v, v};
  }
  static F as_float(U u) { return {_mm256_castsi256_ps(u.a), _mm256_castsi256_ps(u.b)}; }
  static F even(U u) { return as_float({_mm256_slli_epi32(u.a, 16), _mm256_slli_epi32(u.b, 16)}); }
  static F odd(U u) {
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return as_float({_mm256_and_si256(u.a, mask), _mm256_and_si256(u.b, mask)});
  }
  static __m256i join_half(__m256i x, std::int64_t x_odd, __m256i y, std::int64_t y_odd) {
    const __m256i low = x_odd != 0 ? _mm256_srli_epi32(x, 16) : x;
    const __m256i high = y_odd != 0 ? y : _mm256_slli_epi32(y, 16);
    return _mm256_blend_epi16(low, high, 0xaa);
  }
  static U join(U x, std::int64_t x_odd, U y, std::int64_t y_odd) {
    return {join_half(x.a, x_odd, y.a, y_odd), join_half(x.b, x_odd, y.b, y_odd)};
  }

  static F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  static F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  static F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  static F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  static F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static F fma(F x, F y, F z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
  /// Lane i gets lane i ^ distance.
  template <int distance>
  static F swap(F x) {
    if constexpr (distance == 8) return {x.b, x.a};
    if constexpr (distance == 4)
      return {_mm256_permute2f128_ps(x.a, x.a, 1), _mm256_permute2f128_ps(x.b, x.b, 1)};
    constexpr int kOrder = distance == 2 ? 0x4e : 0xb1;
    return {_mm256_permute_ps(x.a, kOrder), _mm256_permute_ps(x.b, kOrder)};
  }
  static float first_lane(F x) { return _mm256_cvtss_f32(x.a); }
  static F zero_unless_at_least(F x, F limit, F p) {
    return {_mm256_and_ps(_mm256_cmp_ps(x.a, limit.a, _CMP_GE_OQ), p.a),
            _mm256_and_ps(_mm256_cmp_ps(x.b, limit.b, _CMP_GE_OQ), p.b)};
  }
  static __m256 scale_half(__m256 p, __m256 shifted) {
    const __m256i power = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), power));
  }
  static F scale_by_power(F p, F shifted) { return {scale_half(p.a, shifted.a), scale_half(p.b, shifted.b)}; }

  /// to_bf16() in the low half of every lane.
  static __m256i round_half(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd_bit = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(odd_bit, _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, up), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, quiet, is_nan);
  }
  static __m256i round(F x) {
    const __m256i packed = _mm256_packus_epi32(round_half(x.a), round_half(x.b));
    return _mm256_permute4x64_epi64(packed, 0xd8);
  }
  static void store_bf16(void* out, F low, F high) {
    auto* to = static_cast<__m256i*>(out);
    _mm256_storeu_si256(to, round(low));
    _mm256_storeu_si256(to + 1, round(high));
  }
  static void store_bf16_part(void* out, F x, int n) {
    const __m256i r = round(x);
    if (n == kLanes) {
      _mm256_storeu_si256(static_cast<__m256i*>(out), r);
    } else {
      alignas(32) char buffer[32];
      _mm256_store_si256(reinterpret_cast<__m256i*>(buffer), r);
      __builtin_memcpy(out, buffer, 2 * static_cast<unsigned>(n));
    }
  }
};

}  // namespace

void attend_f32_avx2(const AttentionItem& item) {
  Attention<Avx2, MacF32<Avx2>>(item).run();
}
void attend_bf16_avx2(const AttentionItem& item) {
  Attention<Avx2, MacBf16<Avx2>>(item).run();
}

}  // namespace augur

#endif
