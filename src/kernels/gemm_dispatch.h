#pragma once
#include "base/cpu.h"
#include "kernels/gemm.h"

namespace augur {

/// The GEMM of a variant. Does not check that this machine can run it: see kernel_set().
GemmFn gemm_kernel(Isa isa);

/// Repeats the dot product of that GEMM with all operands in registers and returns the floating-point
/// operations done: what the roofline's multiply side is measured with. `sink`: at least 16 floats.
using PeakFn = std::int64_t (*)(std::int64_t rounds, float* sink);
PeakFn peak_kernel(Isa isa, DType type);

}  // namespace augur
