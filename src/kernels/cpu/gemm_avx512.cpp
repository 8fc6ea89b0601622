#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/gemm_blocked.h"
#include "kernels/cpu/gemm_peak.h"
#include "kernels/cpu/vector512.h"

namespace augur {

namespace {

struct DotF32 : Vector512 {
  using X = __m512;
  using W = __m512;
  static X load_x(const char* p) { return _mm512_set1_ps(*reinterpret_cast<const UnalignedFloat*>(p)); }
  static W load_w(const char* p) { return _mm512_loadu_ps(p); }
  static Acc dot(Acc acc, X x, W w) { return _mm512_fmadd_ps(x, w, acc); }
};

/// bf16 pairs without VDPBF16PS: a bf16 is the upper half of a float, so a pair splits with a mask and a
/// shift.
struct Pair512 {
  __m512 odd, even;
};

struct DotBf16 : Vector512 {
  static constexpr int kMaxRows = 8;
  static constexpr int kBlockRows = 6;
  static constexpr int panels(int rows) { return rows <= 3 ? 4 : rows <= 6 ? 3 : 2; }
  using X = Pair512;
  using W = Pair512;
  static Pair512 split(__m512i pairs) {
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    return {_mm512_castsi512_ps(_mm512_and_si512(pairs, upper)),
            _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16))};
  }
  static X load_x(const char* p) {
    return split(_mm512_set1_epi32(*reinterpret_cast<const UnalignedInt*>(p)));
  }
  static W load_w(const char* p) { return split(_mm512_loadu_si512(p)); }
  static Acc dot(Acc acc, X x, W w) {
    return _mm512_fmadd_ps(x.even, w.even, _mm512_fmadd_ps(x.odd, w.odd, acc));
  }
};

}  // namespace

void gemm_f32_avx512(const GemmTask& task) {
  run_blocked<VectorTiles<DotF32>>(task);
}
void gemm_bf16_avx512(const GemmTask& task) {
  run_blocked<VectorTiles<DotBf16>>(task);
}

std::int64_t peak_f32_avx512(std::int64_t rounds, float* sink) {
  return run_peak<DotF32, 32>(rounds, sink);
}
std::int64_t peak_bf16_avx512(std::int64_t rounds, float* sink) {
  return run_peak<DotBf16, 64>(rounds, sink);
}

}  // namespace augur
#endif
