#if defined(__x86_64__)
// Quantised products with AVX512-VNNI: VPDPBUSD multiplies unsigned weights with signed values of x, so
// weights keep the 128 that makes them unsigned, and sums start with what that adds (QuantBlock::offset).
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
  constexpr int kSums = 24;
  alignas(64) int operands[kSums + 32];
  for (int i = 0; i < kSums + 32; ++i) operands[i] = i;
  const __m512i x = _mm512_loadu_si512(operands);
  const __m512i w = _mm512_loadu_si512(operands + 16);
  __m512i sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_loadu_si512(operands + i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], w, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  _mm512_storeu_ps(sink, _mm512_cvtepi32_ps(sums[0]));
  return rounds * kSums * 128;
}

}  // namespace augur
#endif
