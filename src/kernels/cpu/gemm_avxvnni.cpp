#if defined(__x86_64__)
// Quantised products with AVX-VNNI: as in gemm_vnni512.cpp, in registers of 256 bits.
#include "kernels/cpu/quant256.h"

namespace augur {

namespace {

struct AvxVnni : Quant256 {
  static constexpr int kMaxRows = 3;
  static constexpr int kBlockRows = 2;
  static constexpr int kMaxPanels = 2;
  static constexpr int panels(int rows) { return rows == 1 ? 2 : 1; }

  static Int start(const char* p) { return {load_x(p), load_x(p)}; }
  static Int dot(Int sum, Bytes w, X x) {
    return {_mm256_dpbusd_avx_epi32(sum.low, w.low, x), _mm256_dpbusd_avx_epi32(sum.high, w.high, x)};
  }
  template <bool, int>
  static Acc to_float(Int v) {
    return {_mm256_cvtepi32_ps(v.low), _mm256_cvtepi32_ps(v.high)};
  }
  template <bool kMinimum, int kUnit>
  static Bytes weights(Bytes b) {
    return b;
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
