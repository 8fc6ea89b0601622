#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "files/weight_store.h"

namespace augur {

/// Writes a .safetensors file piece by piece, so that a model need not fit into memory. The file appears
/// under its name when finish() returns; without it nothing is left behind. Not thread-safe.
class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::F32;
    Shape shape;
  };

  /// Writes the header. Error for a type that the format does not have.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<Entry>& entries);

  /// The next bytes of the tensors, which follow each other in the order of `entries`.
  void write(std::span<const std::byte> bytes);
  /// Error unless every tensor has been written in full.
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::uint64_t expected_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace augur
