#include "base/error.h"
#include "kernels/attention_dispatch.h"
#include "kernels/backend.h"
#include "kernels/gemm_dispatch.h"
#include "kernels/ops.h"

namespace augur {

const KernelSet& kernel_set(Isa isa) {
  const auto make = [](Isa variant) {
    return KernelSet{variant, gemm_kernel(variant), attention_kernel(variant)};
  };
  static const KernelSet sets[] = {make(Isa::Portable), make(Isa::Avx2), make(Isa::Avx512),
                                   make(Isa::Avx512Bf16), make(Isa::Amx)};
  if (!supported(isa)) throw Error("this processor cannot run the {} kernels", name(isa));
  limit_ops_to(isa);
  return sets[static_cast<int>(isa)];
}

}  // namespace augur
