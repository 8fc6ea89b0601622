#pragma once
// The tile unit's product of bf16 in plain C++, for machines that have none.
#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "kernels/cpu/subnormals.h"
#include "tile_memory.h"

namespace augur {
namespace {

class EmulatedTiles : public TileMemory {
 public:
  /// TDPBF16PS as the manual gives it (docs/law.md): even and odd products summed apart, the two added, then
  /// to C; subnormals count as zero whatever the control register says.
  template <int C, int A, int B>
  void dot() {
    ASSERT_TRUE(live_);
    ASSERT_EQ(config_.rows[C], config_.rows[A]);
    ASSERT_EQ(config_.rows[B], 16);
    const FlushSubnormals flush;
    for (int m = 0; m < config_.rows[C]; ++m) {
      for (int n = 0; n < 16; ++n) add_block(m, n, tiles_[C][m], A, B);
    }
  }

 private:
  [[gnu::noinline]] void add_block(int m, int n, std::uint8_t* sums, int a, int b) const {
    float even = 0;
    float odd = 0;
    for (int k = 0; k < 16; ++k) {
      even = std::fma(bf16(a, m, 2 * k), bf16(b, k, 2 * n), even);
      odd = std::fma(bf16(a, m, 2 * k + 1), bf16(b, k, 2 * n + 1), odd);
    }
    float sum;
    std::memcpy(&sum, sums + 4 * n, 4);
    sum += even + odd;
    std::memcpy(sums + 4 * n, &sum, 4);
  }

  float bf16(int tile, int row, int column) const {
    BF16 v;
    std::memcpy(&v, &tiles_[tile][row][2 * column], 2);
    return to_float(v);
  }
};

}  // namespace
}  // namespace augur
