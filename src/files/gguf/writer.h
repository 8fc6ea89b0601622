#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "files/gguf/gguf.h"

namespace augur {

/// What a GGUF file says beside its tensors, by key. A key that is set again has its last value.
class GgufMetadata {
 public:
  void set(const std::string& key, std::string_view text);
  void set(const std::string& key, const char* text) { set(key, std::string_view(text)); }
  void set(const std::string& key, bool value);
  void set_u16(const std::string& key, std::uint16_t value);
  void set_u32(const std::string& key, std::uint32_t value);
  void set_i32(const std::string& key, std::int32_t value);
  void set_f32(const std::string& key, float value);
  void set(const std::string& key, std::span<const std::string> texts);
  void set(const std::string& key, std::span<const float> values);
  void set(const std::string& key, std::span<const std::int32_t> values);
  void set(const std::string& key, const std::vector<bool>& values);
  /// As another file has it.
  void copy(const std::string& key, const GgufValue& value);

  /// By key: type and value as they are written.
  const std::map<std::string, std::string, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, std::string, std::less<>> entries_;
};

/// Writes a GGUF file, version 3, piece by piece, so that a model need not fit into memory. The file appears
/// under its name when finish() returns; without it nothing is left behind. Not thread-safe.
class GgufWriter {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::F32;
    Shape shape;  ///< slowest dimension first
  };

  /// Writes the header. Error for a type that the format does not have, or a row of no whole blocks.
  GgufWriter(const std::filesystem::path& path, const GgufMetadata& metadata,
             const std::vector<Entry>& entries);

  /// The next bytes of the tensors, which follow each other in the order of `entries`.
  void write(std::span<const std::byte> bytes);
  /// Error unless every tensor has been written in full.
  void finish();

 private:
  void skip_finished();
  void pad(std::uint64_t bytes);

  std::string path_;
  AtomicFile file_;
  std::vector<std::uint64_t> sizes_;  ///< of the tensors
  std::size_t tensor_ = 0;            ///< being written
  std::uint64_t written_ = 0;         ///< of it
};

}  // namespace augur
