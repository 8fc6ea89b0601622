#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/gemm_blocked.h"
#include "kernels/cpu/gemm_peak.h"
#include "kernels/cpu/vector512.h"

namespace augur {

namespace {

/// acc += x.odd * w.odd, then acc += x.even * w.even: one VDPBF16PS.
struct DotBf16 : Vector512 {
  using X = __m512i;
  using W = __m512i;
  static X load_x(const char* p) { return _mm512_set1_epi32(*reinterpret_cast<const UnalignedInt*>(p)); }
  static W load_w(const char* p) { return _mm512_loadu_si512(p); }
  static Acc dot(Acc acc, X x, W w) { return _mm512_dpbf16_ps(acc, (__m512bh)x, (__m512bh)w); }
};

}  // namespace

void gemm_bf16_avx512bf16(const GemmTask& task) {
  run_blocked<VectorTiles<DotBf16>>(task);
}

std::int64_t peak_bf16_avx512bf16(std::int64_t rounds, float* sink) {
  return run_peak<DotBf16, 64>(rounds, sink);
}

}  // namespace augur
#endif
