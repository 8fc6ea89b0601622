#include "kernels/quant_variants.h"

#include <algorithm>

namespace augur {

namespace {

/// The preferred last.
constexpr QuantVariant kVariants[] = {
    {.name = "portable",
     .gemm = gemm_quant_portable,
     .peak = peak_quant_portable,
     .peak_8_bits = peak_quant_portable},
#if defined(__x86_64__)
    {.name = "avx2",
     .isa = {CpuFeature::Avx2},
     .beside = {CpuFeature::F16c},
     .gemm = gemm_quant_avx2,
     .peak = peak_quant_avx2,
     .peak_8_bits = peak_quant_avx2_8_bits},
    {.name = "avxvnni",
     .isa = {CpuFeature::Avx2},
     .beside = {CpuFeature::F16c, CpuFeature::AvxVnni},
     .gemm = gemm_quant_avxvnni,
     .peak = peak_quant_avxvnni,
     .peak_8_bits = peak_quant_avxvnni},
    {.name = "avx512vnni",
     .isa = {CpuFeature::Avx512},
     .beside = {CpuFeature::Avx512Vnni},
     .gemm = gemm_quant_vnni512,
     .peak = peak_quant_vnni512,
     .peak_8_bits = peak_quant_vnni512},
#endif
};

}  // namespace

const std::vector<QuantVariant>& quant_variants() {
  static const std::vector<QuantVariant> variants = [] {
    std::vector<QuantVariant> list;
    for (const QuantVariant& v : kVariants) {
      if (cpu_features().has_all(v.isa) && cpu_features().has_all(v.beside)) list.push_back(v);
    }
    return list;
  }();
  return variants;
}

const QuantVariant& quant_variant(Isa isa) {
  const std::vector<QuantVariant>& variants = quant_variants();
  return *std::find_if(variants.rbegin(), variants.rend(),
                       [&](const QuantVariant& v) { return features(isa).has_all(v.isa); });
}

}  // namespace augur
