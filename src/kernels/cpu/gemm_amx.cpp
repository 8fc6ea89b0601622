#if defined(__x86_64__)
#include "kernels/cpu/gemm_amx.h"

#include <immintrin.h>

namespace augur {

namespace {

/// The compiler's AMX intrinsics are asm without memory operands: this keeps stores that they depend on
/// before them.
inline void stores_are_done() {
  asm volatile("" ::: "memory");
}

/// The processor's tile unit. The intrinsics take literals only, hence the switches; each folds to one
/// instruction.
struct HardwareTiles {
  void configure(const TileConfig& config) {
    stores_are_done();
    _tile_loadconfig(&config);
  }
  void release() { _tile_release(); }

  template <int T>
  void zero() {
    if constexpr (T == 0) _tile_zero(0);
    if constexpr (T == 1) _tile_zero(1);
    if constexpr (T == 2) _tile_zero(2);
    if constexpr (T == 3) _tile_zero(3);
  }

  template <int T>
  void load(const void* base, std::int64_t stride) {
    stores_are_done();
    if constexpr (T == 0) _tile_loadd(0, base, stride);
    if constexpr (T == 1) _tile_loadd(1, base, stride);
    if constexpr (T == 2) _tile_loadd(2, base, stride);
    if constexpr (T == 3) _tile_loadd(3, base, stride);
    if constexpr (T == 4) _tile_loadd(4, base, stride);
    if constexpr (T == 5) _tile_loadd(5, base, stride);
    if constexpr (T == 6) _tile_loadd(6, base, stride);
    if constexpr (T == 7) _tile_loadd(7, base, stride);
  }

  template <int T>
  void store(void* base, std::int64_t stride) {
    if constexpr (T == 0) _tile_stored(0, base, stride);
    if constexpr (T == 1) _tile_stored(1, base, stride);
    if constexpr (T == 2) _tile_stored(2, base, stride);
    if constexpr (T == 3) _tile_stored(3, base, stride);
  }

  template <int C, int A, int B>
  void dot() {
    constexpr int kCode = 100 * C + 10 * A + B;
    static_assert(kCode == 45 || kCode == 146 || kCode == 247 || kCode == 345 || kCode == 46 ||
                  kCode == 256 || kCode == 147 || kCode == 357);
    if constexpr (kCode == 45) _tile_dpbf16ps(0, 4, 5);
    if constexpr (kCode == 146) _tile_dpbf16ps(1, 4, 6);
    if constexpr (kCode == 247) _tile_dpbf16ps(2, 4, 7);
    if constexpr (kCode == 345) _tile_dpbf16ps(3, 4, 5);
    if constexpr (kCode == 46) _tile_dpbf16ps(0, 4, 6);
    if constexpr (kCode == 256) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kCode == 147) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kCode == 357) _tile_dpbf16ps(3, 5, 7);
  }
};

}  // namespace

void gemm_bf16_amx(const GemmTask& task) {
  run_blocked<AmxTiles<HardwareTiles>>(task);
}

std::int64_t peak_bf16_amx(std::int64_t rounds, float* sink) {
  alignas(64) float memory[16 * 16] = {};
  TileConfig config;
  for (int t = 0; t < 8; ++t) {
    config.rows[t] = 16;
    config.row_bytes[t] = 64;
  }
  HardwareTiles tiles;
  tiles.configure(config);
  tiles.load<4>(memory, 64);
  tiles.load<5>(memory, 64);
  tiles.load<6>(memory, 64);
  tiles.load<7>(memory, 64);
  tiles.zero<0>();
  tiles.zero<1>();
  tiles.zero<2>();
  tiles.zero<3>();
  for (std::int64_t round = 0; round < rounds; ++round) {
    tiles.dot<0, 4, 6>();
    tiles.dot<1, 4, 7>();
    tiles.dot<2, 5, 6>();
    tiles.dot<3, 5, 7>();
  }
  tiles.store<0>(memory, 64);
  tiles.release();
  for (int i = 0; i < 16; ++i) sink[i] = memory[i];
  return rounds * 4 * (16 * 16 * 32 * 2);
}

}  // namespace augur
#endif
