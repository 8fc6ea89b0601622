#pragma once
#include "base/cpu.h"
#include "kernels/attention.h"

namespace augur {

/// The attention kernel of a variant. Does not check that this machine can run it: see kernel_set().
AttentionFn attention_kernel(Isa isa);

}  // namespace augur
