#pragma once
#include "base/cpu.h"
#include "kernels/gemm.h"

namespace augur {

/// The GEMM of a variant. Does not check that this machine can run it: see kernel_set().
GemmFn gemm_kernel(Isa isa);

}  // namespace augur
