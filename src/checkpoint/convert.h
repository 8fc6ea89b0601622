#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>

#include "checkpoint/checkpoint.h"

namespace augur {

struct ConvertOptions {
  /// A shard is closed before it would grow beyond this.
  std::int64_t max_shard_bytes = 5'000'000'000;
  /// Called after each tensor.
  std::function<void(int done, int total)> progress;
};

/// Writes a model as a Hugging Face folder: config.json, generation_config.json, bf16 weights (vectors, such
/// as the norms, keep float32 precision) in model.safetensors or shards, tokenizer.json, and
/// tokenizer_config.json with the chat template. A model of another layout loads from there with the same
/// token ids and with the weights that bf16 rounding gives. `out` must not exist or be an empty folder; after
/// an error it is as it was before. Error for a GGUF file of layers with Mamba2
/// (Granite 4, Nemotron-H).
void convert_to_folder(const Checkpoint& checkpoint, const std::filesystem::path& out,
                       const ConvertOptions& options);

/// The tokenizer's part of that: tokenizer files with the chat template, and generation_config.json. `out`
/// exists.
void write_tokenizer(const Checkpoint& checkpoint, const std::filesystem::path& out);

inline void convert_to_folder(const Checkpoint& checkpoint, const std::filesystem::path& out,
                              std::function<void(int done, int total)> progress) {
  convert_to_folder(checkpoint, out, ConvertOptions{.progress = std::move(progress)});
}

}  // namespace augur
