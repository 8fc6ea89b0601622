#pragma once
#include <torch/torch.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files/weight_store.h"

namespace augur {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// A stored tensor as a float32 (or int64 for integer types) CPU tensor of the same shape.
torch::Tensor to_torch(const StoredTensor& stored);

/// Without their names.
std::vector<torch::Tensor> values_of(const NamedTensors& tensors);

/// Writes tensors in order to a safetensors file: to a temporary name, flushed, then renamed, so a finished
/// file is never damaged. float32, bfloat16, int64, int32, uint8 and bool tensors keep their type.
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

}  // namespace augur
