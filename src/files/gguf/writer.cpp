// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "files/gguf/writer.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "files/gguf/ggml_types.h"

namespace augur {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint32_t kVersion = 3;
constexpr std::uint64_t kAlignment = 32;  // what the format takes where general.alignment is not set

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_string(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out.append(text);
}

std::string typed(GgufType type) {
  std::string out;
  put(out, static_cast<std::uint32_t>(type));
  return out;
}

std::string array_of(GgufType element, std::uint64_t count) {
  std::string out = typed(GgufType::Array);
  put(out, static_cast<std::uint32_t>(element));
  put(out, count);
  return out;
}

template <class T>
std::string scalar(GgufType type, T value) {
  std::string out = typed(type);
  put(out, value);
  return out;
}

template <class T>
std::string numbers(GgufType element, std::span<const T> values) {
  std::string out = array_of(element, values.size());
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return out;
}

std::uint64_t padding(std::uint64_t size) {
  return (kAlignment - size % kAlignment) % kAlignment;
}

}  // namespace

void GgufMetadata::set(const std::string& key, std::string_view text) {
  std::string out = typed(GgufType::String);
  put_string(out, text);
  entries_[key] = std::move(out);
}
void GgufMetadata::set(const std::string& key, bool value) {
  entries_[key] = scalar(GgufType::Bool, static_cast<std::uint8_t>(value));
}
void GgufMetadata::set_u16(const std::string& key, std::uint16_t value) {
  entries_[key] = scalar(GgufType::U16, value);
}
void GgufMetadata::set_i32(const std::string& key, std::int32_t value) {
  entries_[key] = scalar(GgufType::I32, value);
}
void GgufMetadata::set_u32(const std::string& key, std::uint32_t value) {
  entries_[key] = scalar(GgufType::U32, value);
}
void GgufMetadata::set_f32(const std::string& key, float value) {
  entries_[key] = scalar(GgufType::F32, value);
}
void GgufMetadata::set(const std::string& key, std::span<const std::string> texts) {
  std::string out = array_of(GgufType::String, texts.size());
  for (const std::string& text : texts) put_string(out, text);
  entries_[key] = std::move(out);
}
void GgufMetadata::set(const std::string& key, std::span<const float> values) {
  entries_[key] = numbers(GgufType::F32, values);
}
void GgufMetadata::set(const std::string& key, std::span<const std::int32_t> values) {
  entries_[key] = numbers(GgufType::I32, values);
}

void GgufMetadata::set(const std::string& key, const std::vector<bool>& values) {
  std::string out = array_of(GgufType::Bool, values.size());
  for (const bool value : values) put(out, static_cast<std::uint8_t>(value));
  entries_[key] = std::move(out);
}

void GgufMetadata::copy(const std::string& key, const GgufValue& value) {
  const std::string_view bytes(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  if (value.type == GgufType::String) return set(key, bytes);
  std::string out = value.type == GgufType::Array ? array_of(value.element, value.count) : typed(value.type);
  out.append(bytes);
  entries_[key] = std::move(out);
}

GgufWriter::GgufWriter(const std::filesystem::path& path, const GgufMetadata& metadata,
                       const std::vector<Entry>& entries)
    : path_(path.string()), file_(path) {
  std::string header;
  put(header, kMagic);
  put(header, kVersion);
  put(header, static_cast<std::uint64_t>(entries.size()));
  std::uint64_t keys = 0;
  for (const auto& [key, value] : metadata.entries()) keys += key != "general.alignment";
  put(header, keys);
  for (const auto& [key, value] : metadata.entries()) {
    if (key == "general.alignment") continue;  // of the file it was copied from
    put_string(header, key);
    header += value;
  }
  std::uint64_t offset = 0;
  for (const Entry& entry : entries) {
    const auto type = ggml_type(entry.dtype);
    const auto size = storage_bytes(entry.dtype, entry.shape);
    if (!type || !size || entry.shape.empty()) {
      throw Error("{}: tensor {}: {} {} cannot be written to a GGUF file", path_, entry.name,
                  name(entry.dtype), to_string(entry.shape));
    }
    put_string(header, entry.name);
    put(header, static_cast<std::uint32_t>(entry.shape.size()));
    for (std::size_t i = entry.shape.size(); i-- > 0;) put(header, entry.shape[i]);
    put(header, *type);
    put(header, offset);
    sizes_.push_back(static_cast<std::uint64_t>(*size));
    offset += sizes_.back() + padding(sizes_.back());
  }
  file_.write(header);
  pad(padding(header.size()));
  skip_finished();
}

void GgufWriter::pad(std::uint64_t bytes) {
  const std::string zeros(bytes, '\0');
  file_.write(zeros);
}

void GgufWriter::skip_finished() {
  while (tensor_ < sizes_.size() && written_ == sizes_[tensor_]) {
    pad(padding(written_));
    ++tensor_;
    written_ = 0;
  }
}

void GgufWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (tensor_ == sizes_.size()) throw Error("{}: more is written than its tensors hold", path_);
    const auto count = std::min<std::uint64_t>(bytes.size(), sizes_[tensor_] - written_);
    file_.write(bytes.first(static_cast<std::size_t>(count)));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    written_ += count;
    skip_finished();
  }
}

void GgufWriter::finish() {
  if (tensor_ != sizes_.size()) {
    throw Error("{}: tensor {} of {} is incomplete", path_, tensor_ + 1, sizes_.size());
  }
  file_.commit();
}

}  // namespace augur
