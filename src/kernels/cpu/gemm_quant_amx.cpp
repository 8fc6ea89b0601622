#if defined(__x86_64__)
#include "kernels/cpu/gemm_quant_amx.h"

#include "kernels/cpu/amx_unit.h"
#include "kernels/cpu/quant512.h"

namespace augur {

namespace {

struct HardwareTiles : TileUnit {
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
  HardwareTiles tiles;
  fill_tiles(tiles, memory);
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
