#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/attention_dispatch.h"
#include "kernels/backend.h"
#include "kernels/gemm_dispatch.h"
#include "kernels/ops.h"

namespace augur {

const KernelSet& kernel_set(Isa isa) {
  static const std::vector<KernelSet> sets = [] {
    std::vector<KernelSet> all;
    for (const Isa variant : all_isas())
      all.push_back({variant, gemm_kernel(variant), attention_kernel(variant)});
    return all;
  }();
  if (!supported(isa))
    throw Error(ErrorKind::Unsupported, "this processor cannot run the {} kernels", name(isa));
  limit_ops_to(isa);
  return *std::find_if(sets.begin(), sets.end(), [&](const KernelSet& set) { return set.isa == isa; });
}

}  // namespace augur
