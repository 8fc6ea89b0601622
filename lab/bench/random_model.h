#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>

#include "model/config.h"

namespace augur {

/// Writes `file` (.safetensors, bf16) with the tensors that a model of this configuration is loaded from,
/// under the names that the engine reads, with the values of Model::random(): uniform, scaled so that
/// activations keep their size, a function of the seed. One tensor's rows are in memory at a time. `progress`
/// (may be empty) gets what is done, from 0 to 1.
void write_random_weights(const ModelConfig& config, std::uint64_t seed, const std::filesystem::path& file,
                          const std::function<void(double)>& progress);

}  // namespace augur
