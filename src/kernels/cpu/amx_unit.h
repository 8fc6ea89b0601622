#pragma once
// The processor's tile unit, shared by the products of all types. For files that are compiled for AMX only,
// so everything here has internal linkage (see gemm_task.h).
#include <immintrin.h>

#include "kernels/cpu/gemm_amx.h"

namespace augur {
namespace {

/// The compiler's AMX intrinsics are asm without memory operands: this keeps stores that they depend on
/// before them, and loads of what they store behind.
inline void stores_are_done() {
  asm volatile("" ::: "memory");
}

/// Tiles 0..3 are sums, 4..7 operands; what multiplies them is added by whoever derives from this. The
/// intrinsics take literals only, hence the switches; each folds to one instruction.
struct TileUnit {
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
    stores_are_done();
  }
};

/// Loads the four operand tiles and clears the sums, for the loops that measure the multiply rate.
/// `memory`: 1 KiB.
inline void fill_tiles(TileUnit& unit, const void* memory) {
  TileConfig config;
  for (int t = 0; t < 8; ++t) {
    config.rows[t] = 16;
    config.row_bytes[t] = 64;
  }
  unit.configure(config);
  unit.load<4>(memory, 64);
  unit.load<5>(memory, 64);
  unit.load<6>(memory, 64);
  unit.load<7>(memory, 64);
  unit.zero<0>();
  unit.zero<1>();
  unit.zero<2>();
  unit.zero<3>();
}

}  // namespace
}  // namespace augur
