#pragma once
#include <immintrin.h>

namespace augur {
namespace {

using UnalignedInt [[gnu::may_alias, gnu::aligned(4)]] = int;
using UnalignedFloat [[gnu::may_alias, gnu::aligned(4)]] = float;

/// What the 512-bit variants have in common: one register is one row of one panel.
struct Vector512 {
  static constexpr int kMaxRows = 12;
  static constexpr int kBlockRows = 8;
  static constexpr int kMaxPanels = 4;
  /// Accumulators, the shorter side of the tile and one more register fit into 32. More than four panels at
  /// once are slower to read.
  static constexpr int panels(int rows) { return rows <= 6 ? 4 : rows <= 8 ? 3 : 2; }

  using Acc = __m512;
  static Acc zero() { return _mm512_setzero_ps(); }
  static Acc load_acc(const float* p) { return _mm512_loadu_ps(p); }
  static void store_acc(float* p, Acc v) { _mm512_storeu_ps(p, v); }
  static Acc add(Acc a, Acc b) { return _mm512_add_ps(a, b); }
};

}  // namespace
}  // namespace augur
