#if defined(__x86_64__)
#include "kernels/cpu/amx_unit.h"

namespace augur {

namespace {

struct HardwareTiles : TileUnit {
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
  HardwareTiles tiles;
  fill_tiles(tiles, memory);
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
