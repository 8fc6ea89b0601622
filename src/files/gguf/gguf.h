#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/mapped_file.h"
#include "files/weight_store.h"

namespace augur {

/// Types of metadata values, by their number in the file.
enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
std::string_view name(GgufType type);

/// A metadata value as it lies in the file, bounds already checked; decoded on request.
struct GgufValue {
  GgufType type = GgufType::U8;
  GgufType element = GgufType::U8;   ///< of an array's items
  std::uint64_t count = 0;           ///< of an array's items
  std::span<const std::byte> bytes;  ///< of a string: its content; of an array: its items
};

/// A tensor as the header describes it.
struct GgufTensorInfo {
  std::string name;
  std::uint32_t type = 0;    ///< ggml's number
  Shape shape;               ///< slowest dimension first (the file has them fastest first)
  std::uint64_t offset = 0;  ///< into the data area of its part
  std::size_t part = 0;      ///< which of GgufFile::parts() has its data
};

/// One file on the disk: the whole, or a part of a split one.
struct GgufPart {
  std::string name;  ///< its path
  std::span<const std::byte> data;
  std::uint64_t alignment = 0;                ///< of tensors' data
  std::shared_ptr<const MappedFile> mapping;  ///< null: the bytes are the caller's
};

/// The header of a GGUF file, versions 2 and 3, little-endian, which may lie in parts (split.h). Reading
/// checks every count and length against the file before anything is allocated; whether a tensor's type is
/// known and its data lie in the file is checked by tensor(), so that a vocabulary can be read from a file
/// with unknown tensors. Errors name the file and the key or tensor. Immutable, thread-safe. Own code: Debian
/// 12 has no ggml, and its reader comes with the engine around it.
class GgufFile {
 public:
  /// `path` may be any part of a split file: all are opened, from the first.
  static GgufFile open(const std::filesystem::path& path);
  /// One file by itself; it is held.
  static GgufFile read(std::shared_ptr<const MappedFile> file);
  /// A file in memory that the caller owns and keeps. A part of a split one is read by itself.
  static GgufFile parse(std::span<const std::byte> bytes, std::string name);
  /// The parts of a split file in their order, as one: metadata of the first, tensors of all. Error naming
  /// the part that is doubled, or of another file.
  static GgufFile join(std::vector<GgufFile> parts);

  const std::string& name() const { return parts_.front().name; }  ///< the first part's path
  std::uint32_t version() const { return version_; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  const std::vector<GgufTensorInfo>& tensor_infos() const { return tensors_; }
  const GgufTensorInfo* find_tensor(std::string_view name) const;
  /// general.architecture
  const std::string& architecture() const { return architecture_; }

  // Typed access: empty when the key is absent, Error when the value has another type.
  bool contains(std::string_view key) const { return metadata_.contains(key); }
  std::optional<std::string> find_string(std::string_view key) const;  ///< Error unless it is UTF-8
  std::optional<std::int64_t> find_int(std::string_view key) const;    ///< any integer type
  std::optional<double> find_float(std::string_view key) const;        ///< any number; finite
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::vector<std::string>> find_strings(std::string_view key) const;  ///< any bytes
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<float>> find_floats(std::string_view key) const;

  /// In their order; one unless the file is split.
  const std::vector<GgufPart>& parts() const { return parts_; }
  /// The tensor with its data: Error when its type is unknown here or its data leave the file.
  StoredTensor tensor(const GgufTensorInfo& info) const;

 private:
  GgufFile() = default;
  const GgufValue* value(std::string_view key) const;
  [[noreturn]] void wrong_type(std::string_view key, const GgufValue& found, std::string_view expected) const;

  std::vector<GgufPart> parts_;
  std::uint32_t version_ = 0;
  std::string architecture_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<GgufTensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> tensor_index_;
};

/// All that the file says beside its tensors, by key, for people to read: numbers, "true", texts. Of arrays
/// with more than 16 items the number and the type: "[49152 of string]".
std::map<std::string, std::string> metadata_texts(const GgufFile& file);

/// Whether a file starts with GGUF's magic. Error for what is no regular file.
bool is_gguf_file(const std::filesystem::path& path);
bool is_gguf_file(const MappedFile& file);

}  // namespace augur
