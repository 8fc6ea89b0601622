#pragma once
#include <immintrin.h>

namespace augur {
namespace {

using UnalignedInt [[gnu::may_alias, gnu::aligned(4)]] = int;
using UnalignedFloat [[gnu::may_alias, gnu::aligned(4)]] = float;

/// What the 512-bit variants have in common: one register is one row of one panel.
struct Vector512 {
  static constexpr int kMaxRows = 8;
  static constexpr int kMaxPanels = 8;
  /// Panels of a tile with that many rows: all accumulators, one register a row and one for the weights fit
  /// into 32 registers.
  static constexpr int panels(int rows) {
    constexpr int kPanels[] = {8, 8, 8, 6, 5, 4, 3, 3};
    return kPanels[rows - 1];
  }
  static constexpr int kStreamBlockBytes = 32 << 10;
  static constexpr int kReuseBlockBytes = 64 << 10;

  using Acc = __m512;
  static Acc zero() { return _mm512_setzero_ps(); }
  static Acc load_acc(const float* p) { return _mm512_loadu_ps(p); }
  static void store_acc(float* p, Acc v) { _mm512_storeu_ps(p, v); }
  static Acc add(Acc a, Acc b) { return _mm512_add_ps(a, b); }
};

}  // namespace
}  // namespace augur
