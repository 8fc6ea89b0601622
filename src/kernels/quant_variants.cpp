#include "kernels/quant_variants.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace augur {

namespace {

constexpr QuantVariant kPortable{.name = "portable",
                                 .gemm = gemm_quant_portable,
                                 .peak = peak_quant_portable,
                                 .peak_8_bits = peak_quant_portable};

#if defined(__x86_64__)
constexpr QuantVariant kAvx2{
    .name = "avx2", .gemm = gemm_quant_avx2, .peak = peak_quant_avx2, .peak_8_bits = peak_quant_avx2_8_bits};
constexpr QuantVariant kAvxVnni{.name = "avxvnni",
                                .gemm = gemm_quant_avxvnni,
                                .peak = peak_quant_avxvnni,
                                .peak_8_bits = peak_quant_avxvnni};
constexpr QuantVariant kVnni512{.name = "avx512vnni",
                                .gemm = gemm_quant_vnni512,
                                .peak = peak_quant_vnni512,
                                .peak_8_bits = peak_quant_vnni512};

bool cpuid_bit(unsigned subleaf, bool edx, int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, subleaf, &a, &b, &c, &d) == 0) return false;
  return ((edx ? d : a) >> bit & 1u) != 0;
}

bool has_f16c() {  // Clang's __builtin_cpu_supports does not know it
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
bool has_avx2() {
  return supported(Isa::Avx2) && has_f16c();
}
bool has_avx_vnni() {
  return has_avx2() && cpuid_bit(1, false, 4);
}
bool has_vnni512() {
  return supported(Isa::Avx512) && __builtin_cpu_supports("avx512vnni");
}
#endif

}  // namespace

const std::vector<QuantVariant>& quant_variants() {
  static const std::vector<QuantVariant> variants = [] {
    std::vector<QuantVariant> list = {kPortable};
#if defined(__x86_64__)
    if (has_avx2()) list.push_back(kAvx2);
    if (has_avx_vnni()) list.push_back(kAvxVnni);
    if (has_vnni512()) list.push_back(kVnni512);
#endif
    return list;
  }();
  return variants;
}

const QuantVariant& quant_variant(Isa isa) {
  const auto allowed = [isa](const QuantVariant& v) {
    if (v.name == "avx512vnni") return isa >= Isa::Avx512;
    return v.name == "portable" || isa >= Isa::Avx2;
  };
  const std::vector<QuantVariant>& variants = quant_variants();
  for (std::size_t i = variants.size(); i-- > 1;) {
    if (allowed(variants[i])) return variants[i];
  }
  return variants.front();
}

}  // namespace augur
