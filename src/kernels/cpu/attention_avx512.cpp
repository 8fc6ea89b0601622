#if defined(__x86_64__)
#include "kernels/cpu/attention_avx512.h"

namespace augur {

void attend_f32_avx512(const AttentionItem& item) {
  Attention<Avx512, MacF32<Avx512>>(item).run();
}
void attend_bf16_avx512(const AttentionItem& item) {
  Attention<Avx512, MacBf16<Avx512>>(item).run();
}

}  // namespace augur

#endif
