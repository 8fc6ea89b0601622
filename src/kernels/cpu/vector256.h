#pragma once
#include <immintrin.h>

namespace augur {
namespace {

using UnalignedInt [[gnu::may_alias, gnu::aligned(4)]] = int;
using UnalignedFloat [[gnu::may_alias, gnu::aligned(4)]] = float;

struct Pair256 {
  __m256 low, high;
};

/// What the 256-bit variants have in common: one row of one panel is two registers; 16 registers hold small
/// tiles only.
struct Vector256 {
  static constexpr int kMaxPanels = 4;

  using Acc = Pair256;
  static Acc zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Acc load_acc(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store_acc(float* p, Acc v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
  }
  static Acc add(Acc a, Acc b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
};

}  // namespace
}  // namespace augur
