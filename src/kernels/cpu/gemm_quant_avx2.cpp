#if defined(__x86_64__)
// Quantised products with AVX2: VPMADDUBSW adds pairs of products in 16 bits and saturates, so what it
// multiplies is kept small. Weights with a sign give it their magnitude (at most 128) and x the sign: 2 * 128
// * 127 fits. Weights without one are small (5 bits) or are made so: nibbles enter as they are, and their sum
// is multiplied by 16 afterwards.
#include "kernels/cpu/quant256.h"

namespace augur {

namespace {

struct Avx2 : Quant256 {
  static constexpr int kMaxRows = 2;
  static constexpr int kBlockRows = 2;
  static constexpr int kMaxPanels = 1;
  static constexpr int panels(int) { return 1; }

  /// Weights with and without a sign need different products.
  struct Bytes {
    Ints256 values;
    bool with_sign;
  };
  static Ints256 load_bytes(const char* p) { return Quant256::load_bytes(p); }

  template <bool kMinimum, int kUnit>
  static Bytes weights(Ints256 b) {
    if constexpr (!kMinimum) {
      const __m256i flip = _mm256_set1_epi8(static_cast<char>(0x80));  // u - 128
      return {{_mm256_xor_si256(b.low, flip), _mm256_xor_si256(b.high, flip)}, true};
    } else if constexpr (kUnit == 16) {
      return {{_mm256_srli_epi16(b.low, 4), _mm256_srli_epi16(b.high, 4)}, false};
    } else {
      return {b, false};
    }
  }

  static Int start(const char*) { return int_zero(); }  // u - 128 is multiplied, not u
  static __m256i dot(__m256i sum, __m256i w, bool with_sign, X x) {
    const __m256i pairs = with_sign ? _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w))
                                    : _mm256_maddubs_epi16(w, x);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static Int dot(Int sum, Bytes w, X x) {
    return {dot(sum.low, w.values.low, w.with_sign, x), dot(sum.high, w.values.high, w.with_sign, x)};
  }
  template <bool kMinimum, int kUnit>
  static Acc to_float(Int v) {
    if constexpr (kMinimum && kUnit == 16) v = {_mm256_slli_epi32(v.low, 4), _mm256_slli_epi32(v.high, 4)};
    return {_mm256_cvtepi32_ps(v.low), _mm256_cvtepi32_ps(v.high)};
  }
};

template <class Format>
using Tiles = QuantTiles<Avx2, Format>;

}  // namespace

void gemm_quant_avx2(QuantKind kind, const GemmTask& task) {
  run_quantized<Tiles>(kind, task);
}

std::int64_t peak_quant_avx2(std::int64_t rounds, float* sink) {
  return peak_quant256(rounds, sink, [](__m256i sum, __m256i w, __m256i) {
    return Avx2::dot(sum, w, false, sum);  // x and w that never change would leave the loop
  });
}

}  // namespace augur
#endif
