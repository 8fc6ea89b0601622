#pragma once
#include <cstdint>

// This header is included by files that are compiled for newer instruction sets than the rest of the program.
// Such files must not instantiate inline functions that others share (the linker keeps one copy, and it might
// be the one this machine cannot run), so there are only plain data and declarations here.

namespace augur {

/// One thread's part of a GemmCall in raw bytes. A "line" is the unit every kernel steps by: 64 bytes of one
/// panel, which meet 4 bytes of every row of x. In BF16 that is a pair of k, in F32 a single k.
struct GemmTask {
  const char* w;  ///< [panels][lines][64 bytes]
  std::int64_t panels;
  std::int64_t lines;     ///< per panel, a multiple of 16
  const char* x;          ///< [rows], 4 * lines bytes used of each row
  std::int64_t x_stride;  ///< bytes
  std::int64_t rows;
  float* y;               ///< [rows, y_stride], first column of the first panel
  std::int64_t y_stride;  ///< elements
  const float* bias;      ///< [16 * panels] or null
  bool accumulate;
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

/// Repeats the variant's dot product from registers; returns the floating-point operations done. `sink` takes
/// at least 16 floats.
using PeakFn = std::int64_t (*)(std::int64_t rounds, float* sink);

std::int64_t peak_portable(std::int64_t rounds, float* sink);
std::int64_t peak_f32_avx2(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_avx2(std::int64_t rounds, float* sink);
std::int64_t peak_f32_avx512(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_avx512(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_avx512bf16(std::int64_t rounds, float* sink);
std::int64_t peak_bf16_amx(std::int64_t rounds, float* sink);

}  // namespace augur
