#pragma once
#include <cstdint>

#include "kernels/cpu/quant_format.h"
#include "kernels/gemm_traversal.h"

// This header is included by files that are compiled for newer instruction sets than the rest of the program.
// Such files must not instantiate inline functions that others share (the linker keeps one copy, and it might
// be the one this machine cannot run), so there are only plain data and declarations here.

namespace augur {

/// One thread's part of a GemmCall in raw bytes. A "line" is 64 bytes of one panel, a "step" the unit that
/// every kernel goes by. With float weights a step is one line, which meets 4 bytes of every row of x: in
/// BF16 a pair of k, in F32 a single k. For quantised weights see quant_format.h.
struct GemmTask {
  const char* w;  ///< [panels][steps] lines
  std::int64_t panels;
  std::int64_t steps;     ///< per panel; a multiple of 16 with float weights
  const char* x;          ///< [rows]
  std::int64_t x_stride;  ///< bytes
  std::int64_t rows;
  float* y;               ///< [rows, y_stride], first column of the first panel
  std::int64_t y_stride;  ///< elements
  const float* bias;      ///< [16 * panels] or null
  bool accumulate;
  GemmTraversal traversal = {};
};

using GemmTaskFn = void (*)(const GemmTask&);

void gemm_f32_portable(const GemmTask& task);
void gemm_bf16_portable(const GemmTask& task);
void gemm_f32_avx2(const GemmTask& task);
void gemm_bf16_avx2(const GemmTask& task);
void gemm_f32_avx512(const GemmTask& task);
void gemm_bf16_avx512(const GemmTask& task);
void gemm_bf16_avx512bf16(const GemmTask& task);
void gemm_bf16_amx(const GemmTask& task);

/// Quantised weights; x is QuantBlocks.
using GemmQuantFn = void (*)(QuantKind kind, const GemmTask& task);

void gemm_quant_portable(QuantKind kind, const GemmTask& task);
void gemm_quant_avx2(QuantKind kind, const GemmTask& task);
void gemm_quant_avxvnni(QuantKind kind, const GemmTask& task);
void gemm_quant_vnni512(QuantKind kind, const GemmTask& task);

/// Repeats the variant's dot product from registers; returns the operations done. `sink` takes
/// at least 16 floats.
using PeakFn = std::int64_t (*)(std::int64_t rounds, float* sink);

std::int64_t peak_portable(std::int64_t rounds, float* sink);
std::int64_t peak_f32_avx2(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_avx2(std::int64_t rounds, float* sink);
std::int64_t peak_f32_avx512(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_avx512(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_avx512bf16(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_amx(std::int64_t rounds, float* sink);
std::int64_t peak_quant_portable(std::int64_t rounds, float* sink);
std::int64_t peak_quant_avx2(std::int64_t rounds, float* sink);
std::int64_t peak_quant_avx2_8_bits(std::int64_t rounds, float* sink);
std::int64_t peak_quant_avxvnni(std::int64_t rounds, float* sink);
std::int64_t peak_quant_vnni512(std::int64_t rounds, float* sink);

}  // namespace augur
