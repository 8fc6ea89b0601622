#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "files/weight_store.h"

namespace augur {

/// The tensors of several files that an index names, as Hugging Face writes it (model.safetensors.index.json,
/// pytorch_model.bin.index.json): {"weight_map": {tensor: file}}. `open` reads one of the files, which lie
/// beside the index. Each tensor must be in the file that the index says, and in no other: Error otherwise.
std::unique_ptr<WeightStore> open_sharded_weights(
    const std::filesystem::path& index,
    const std::function<std::unique_ptr<WeightStore>(const std::filesystem::path&)>& open);

}  // namespace augur
