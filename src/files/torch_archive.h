#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/torch/pickle.h"
#include "files/weight_store.h"

namespace augur {

/// The tensors of a file that torch.save() wrote in its zip format (PyTorch 1.6 and later): .bin, .pt, .pth.
/// The pickle in it is read as data (see Pickle); no code is ever run.
///
/// A tensor is named by the keys that lead to it: a state_dict gives its own names; {"state_dict": {...}}
/// gives "state_dict.<name>"; list items are numbered; a tensor saved alone bears the file's name without
/// extension. Contiguous tensors are views of the mapped file, others (transposed, sliced) are copied into
/// row-major order. Values that are no tensors are passed over; read_torch_values() gives them.
///
/// Error naming file, and entry or tensor, for anything malformed or not allowed; other kinds of file (the
/// older torch.save format, TorchScript, Git LFS pointers, ...) are recognised and refused with advice.
std::unique_ptr<WeightStore> open_torch_archive(const std::filesystem::path& path);

/// The same for a file that lies in memory and outlives the store. `name` stands for it in messages.
std::unique_ptr<WeightStore> parse_torch_archive(std::span<const std::byte> file, const std::string& name);

/// Everything the file describes, without the tensors' contents.
Pickle read_torch_values(const std::filesystem::path& path);

/// A saved list or tuple of integers, or a one-dimensional tensor of integers: the token ids of a
/// frequency-ranked vocabulary (`freq_{V}.pt`). Error for anything else.
std::vector<std::int64_t> read_torch_integers(const std::filesystem::path& path);

}  // namespace augur
