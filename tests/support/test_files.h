#pragma once
// Files for the tests of file formats: a folder that cleans up after itself, and writers of well-formed and
// of broken files.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "files/gguf/gguf.h"
#include "support/temporary_folder.h"

namespace augur::test {

/// A fresh folder, with files to be read in it.
class TemporaryFolder : public testing_support::TemporaryFolder {
 public:
  std::filesystem::path operator/(std::string_view name) const { return path() / name; }
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <class T>
std::string raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Header length, header, data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  return raw(std::uint64_t{header.size()}).append(header).append(data);
}

/// Builds a GGUF file from raw parts, so that any of them can be wrong.
class GgufBuilder {
 public:
  GgufBuilder& value(std::string_view key, GgufType type, std::string_view encoded) {
    metadata_ += string(key) + raw(type);
    metadata_ += encoded;
    ++metadata_count;
    return *this;
  }
  GgufBuilder& text(std::string_view key, std::string_view content) {
    return value(key, GgufType::String, string(content));
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t v) { return value(key, GgufType::U32, raw(v)); }
  GgufBuilder& f32(std::string_view key, float v) { return value(key, GgufType::F32, raw(v)); }
  GgufBuilder& boolean(std::string_view key, bool v) { return value(key, GgufType::Bool, raw(v)); }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& items) {
    std::string encoded = raw(GgufType::String) + raw(std::uint64_t{items.size()});
    for (const auto& item : items) encoded += string(item);
    return value(key, GgufType::Array, encoded);
  }
  template <class T>
  GgufBuilder& array(std::string_view key, GgufType type, const std::vector<T>& items) {
    return value(key, GgufType::Array, raw(type) + raw(std::uint64_t{items.size()}) + raw(items));
  }
  /// `dimensions` as the file has them: fastest first.
  GgufBuilder& tensor(std::string_view name, std::uint32_t type, const std::vector<std::uint64_t>& dimensions,
                      std::string_view data) {
    data_.resize((data_.size() + 31) / 32 * 32);
    return tensor_at(name, type, dimensions, data_.size(), data);
  }
  GgufBuilder& tensor_at(std::string_view name, std::uint32_t type,
                         const std::vector<std::uint64_t>& dimensions, std::uint64_t offset,
                         std::string_view data) {
    tensors_ += string(name) + raw(static_cast<std::uint32_t>(dimensions.size())) + raw(dimensions) +
                raw(type) + raw(offset);
    data_ += data;
    ++tensor_count;
    return *this;
  }
  GgufBuilder& floats(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                      const std::vector<float>& values) {
    return tensor(name, 0, dimensions, raw(values));
  }

  std::string build() const {
    std::string file = "GGUF" + raw(version) + raw(tensor_count) + raw(metadata_count) + metadata_ + tensors_;
    file.resize((file.size() + 31) / 32 * 32);
    return file + data_;
  }

  static std::string string(std::string_view content) {
    return raw(std::uint64_t{content.size()}).append(content);
  }

  std::uint32_t version = 3;
  std::uint64_t tensor_count = 0;
  std::uint64_t metadata_count = 0;

 private:
  std::string metadata_;
  std::string tensors_;
  std::string data_;
};

/// Runs `action`, which must throw an Error that mentions each part.
template <class Action>
void expect_error(Action action, std::initializer_list<std::string_view> parts) {
  try {
    action();
    FAIL() << "no Error was thrown";
  } catch (const Error& e) {
    for (const auto part : parts) {
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos)
          << e.what() << "\nlacks " << part;
    }
  }
}

/// Runs `action` on every proper prefix of `file`, which it must refuse with an Error, and on `file` with
/// each byte changed in a few ways, which it may accept; anything but an Error fails.
template <class Action>
void expect_survives_damage(const std::string& file, Action action) {
  for (std::size_t length = 0; length < file.size(); ++length) {
    // A copy of its own, so that the address sanitizer sees every read behind the end.
    const std::vector<char> prefix(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(action(std::string_view(prefix.data(), length)), Error) << "length " << length;
  }
  for (std::size_t place = 0; place < file.size(); ++place) {
    for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
      std::vector<char> damaged(file.begin(), file.end());
      damaged[place] = static_cast<char>(damaged[place] ^ mask);
      try {
        action(std::string_view(damaged.data(), damaged.size()));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace augur::test
