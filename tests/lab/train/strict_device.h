#pragma once
#include <torch/torch.h>

namespace augur::testing_support {

/// A device that is not the CPU, for machines without one: it computes by the CPU's kernels on copies, and
/// refuses, as a GPU does, every operation between one of its tensors and one of the CPU's (single numbers
/// excepted). What a learner makes on the wrong device is an error on it.
torch::Device strict_device();

}  // namespace augur::testing_support
