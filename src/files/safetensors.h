#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/weight_store.h"

namespace augur {

/// Reads a .safetensors file that lies in memory: 8 bytes of header length, a JSON header, the tensors. The
/// views point into `file`. Error naming `name` and the tensor unless sizes, offsets and types agree and the
/// tensors cover the data area without gaps or overlaps, as the format asks. Own code: the format's library
/// is Rust.
std::vector<StoredTensor> parse_safetensors(std::span<const std::byte> file, const std::string& name);

/// `folder`/model.safetensors, or the shards listed in `folder`/model.safetensors.index.json.
std::unique_ptr<WeightStore> open_safetensors_folder(const std::filesystem::path& folder);

/// One file.
std::unique_ptr<WeightStore> open_safetensors(const std::filesystem::path& file);

/// Whether a folder has one of the two.
bool has_safetensors(const std::filesystem::path& folder);

}  // namespace augur
