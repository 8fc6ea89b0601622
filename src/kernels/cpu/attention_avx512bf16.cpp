#if defined(__x86_64__)
#include "kernels/cpu/attention_avx512.h"

namespace augur {
namespace {

struct Avx512Bf16 : Avx512 {
  // Like Avx512's round() but for subnormals, which the surroundings flush anyway.
  static void store_bf16(void* out, F low, F high) {
    _mm512_storeu_si512(out, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
  }
};

/// VDPBF16PS: two steps, the odd element's first.
struct MacDpbf16 {
  using Op = __m512bh;
  static constexpr int kUnit = 2;
  static constexpr int kScoreRows = 8, kScorePanels = 3;
  static constexpr int kSumRows = 6, kSumColumns = 4;
  static Op op(__m512i units) { return reinterpret_cast<Op>(units); }
  static __m512 mac(__m512 acc, Op a, Op b) { return _mm512_dpbf16_ps(acc, a, b); }
};

}  // namespace

void attend_bf16_avx512bf16(const AttentionItem& item) {
  Attention<Avx512Bf16, MacDpbf16>(item).run();
}

}  // namespace augur

#endif
