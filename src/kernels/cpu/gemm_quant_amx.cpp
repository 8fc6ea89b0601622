#if defined(__x86_64__)
#include "kernels/cpu/gemm_quant_amx.h"

#include <immintrin.h>

#include "kernels/cpu/quant512.h"

namespace augur {

namespace {

/// The compiler's AMX intrinsics are asm without memory operands: this keeps stores that they depend on
/// before them, and loads of what they store behind.
inline void stores_are_done() {
  asm volatile("" ::: "memory");
}

/// The processor's tile unit, as in gemm_amx.cpp.
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
    stores_are_done();
  }

  template <int C, int A, int B>
  void dot_signed_unsigned() {
    constexpr int kCode = 100 * C + 10 * A + B;
    static_assert(kCode == 46 || kCode == 147 || kCode == 256 || kCode == 357);
    if constexpr (kCode == 46) _tile_dpbsud(0, 4, 6);
    if constexpr (kCode == 147) _tile_dpbsud(1, 4, 7);
    if constexpr (kCode == 256) _tile_dpbsud(2, 5, 6);
    if constexpr (kCode == 357) _tile_dpbsud(3, 5, 7);
  }
};

template <class Format>
using Tiles = AmxQuantTiles<HardwareTiles, Vnni512, Format>;

/// Fewer rows fill too little of a tile to pay for unpacking and for sums that go through memory.
constexpr std::int64_t kFewestRows = 7;

}  // namespace

void gemm_quant_amx(QuantKind kind, const GemmTask& task) {
  if (task.rows < kFewestRows) return gemm_quant_vnni512(kind, task);
  run_quantized<Tiles>(kind, task);
}

std::int64_t peak_quant_amx(std::int64_t rounds, float* sink) {
  alignas(64) std::int32_t memory[16 * 16] = {};
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
    tiles.dot_signed_unsigned<0, 4, 6>();
    tiles.dot_signed_unsigned<1, 4, 7>();
    tiles.dot_signed_unsigned<2, 5, 6>();
    tiles.dot_signed_unsigned<3, 5, 7>();
  }
  tiles.store<0>(memory, 64);
  tiles.release();
  for (int i = 0; i < 16; ++i) sink[i] = static_cast<float>(memory[i]);
  return rounds * 4 * (16 * 16 * 64 * 2);
}

}  // namespace augur
#endif
