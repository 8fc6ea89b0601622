#if defined(__x86_64__)
// Quantised products with AVX512-VNNI: VPDPBUSD multiplies unsigned weights with signed values of x, so
// weights keep the 128 that makes them unsigned, and sums start with what that adds (QuantBlock::offset).
#include "kernels/cpu/gemm_peak.h"
#include "kernels/cpu/quant512.h"

namespace augur {

namespace {

template <class Format>
using Tiles = QuantTiles<Vnni512, Format>;

}  // namespace

void gemm_quant_vnni512(QuantKind kind, const GemmTask& task) {
  run_quantized<Tiles>(kind, task);
}

std::int64_t peak_quant_vnni512(std::int64_t rounds, float* sink) {
  constexpr int kChains = 24;
  alignas(64) int operands[kChains + 16];
  for (int i = 0; i < kChains + 16; ++i) operands[i] = i;
  const __m512i x = _mm512_loadu_si512(operands);
  const __m512i w = _mm512_loadu_si512(operands + 8);
  const __m512i sum = run_chains<kChains, __m512i>(
      rounds, [&](int i) { return _mm512_loadu_si512(operands + i); },
      [&](__m512i s) { return _mm512_dpbusd_epi32(s, w, x); },
      [](__m512i a, __m512i b) { return _mm512_add_epi32(a, b); });
  _mm512_storeu_ps(sink, _mm512_cvtepi32_ps(sum));
  return rounds * kChains * 128;
}

}  // namespace augur
#endif
