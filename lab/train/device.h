#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <string>

namespace augur {

/// Where a training's tensors live: the target, the learner's parameters and the optimizer's moments. What is
/// made during a step is made beside them. Random numbers and files are the CPU's, so that a run starts from
/// the same weights everywhere and a checkpoint of one device continues on another.
///
/// "cpu", "cuda", "cuda:N", or "auto": the first CUDA device when there is one. Error for another name, and
/// for a device that this libtorch or this machine does not have.
torch::Device choose_device(const std::string& name);

/// Bytes that new tensors on a device may still take, about: what the system says is available, on a CUDA
/// device what its driver says is free. None: not known.
std::optional<std::int64_t> free_memory(torch::Device device);

/// Attention of packs is libtorch's flash attention no more, where it was.
void without_flash_attention();

}  // namespace augur
