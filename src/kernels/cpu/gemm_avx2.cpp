#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/gemm_blocked.h"
#include "kernels/cpu/gemm_peak.h"
#include "kernels/cpu/vector256.h"

namespace augur {

namespace {

struct DotF32 : Vector256 {
  static constexpr int kMaxRows = 6;
  static constexpr int kBlockRows = kMaxRows;
  static constexpr int panels(int rows) { return rows == 1 ? 4 : rows == 2 ? 3 : rows == 3 ? 2 : 1; }
  using X = __m256;
  using W = Pair256;
  static X load_x(const char* p) { return _mm256_set1_ps(*reinterpret_cast<const UnalignedFloat*>(p)); }
  static W load_w(const char* p) { return load_acc(reinterpret_cast<const float*>(p)); }
  static Acc dot(Acc acc, X x, W w) {
    return {_mm256_fmadd_ps(x, w.low, acc.low), _mm256_fmadd_ps(x, w.high, acc.high)};
  }
};

/// bf16 pairs: a bf16 is the upper half of a float, so a pair splits with a mask and a shift.
struct DotBf16 : Vector256 {
  static constexpr int kMaxRows = 4;
  static constexpr int kBlockRows = kMaxRows;
  static constexpr int panels(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
  struct X {
    __m256 odd, even;
  };
  struct W {
    X low, high;
  };
  static X split(__m256i pairs) {
    const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return {_mm256_castsi256_ps(_mm256_and_si256(pairs, upper)),
            _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16))};
  }
  static X load_x(const char* p) {
    return split(_mm256_set1_epi32(*reinterpret_cast<const UnalignedInt*>(p)));
  }
  static W load_w(const char* p) {
    const auto* lines = reinterpret_cast<const __m256i_u*>(p);
    return {split(_mm256_loadu_si256(lines)), split(_mm256_loadu_si256(lines + 1))};
  }
  static __m256 dot(__m256 acc, X x, X w) {
    return _mm256_fmadd_ps(x.even, w.even, _mm256_fmadd_ps(x.odd, w.odd, acc));
  }
  static Acc dot(Acc acc, X x, W w) { return {dot(acc.low, x, w.low), dot(acc.high, x, w.high)}; }
};

}  // namespace

void gemm_f32_avx2(const GemmTask& task) {
  run_blocked<VectorTiles<DotF32>>(task);
}
void gemm_bf16_avx2(const GemmTask& task) {
  run_blocked<VectorTiles<DotBf16>>(task);
}

std::int64_t peak_f32_avx2(std::int64_t rounds, float* sink) {
  return run_peak<DotF32, 32>(rounds, sink);
}
std::int64_t peak_bf16_avx2(std::int64_t rounds, float* sink) {
  return run_peak<DotBf16, 64>(rounds, sink);
}

}  // namespace augur
#endif
