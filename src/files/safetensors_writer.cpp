#include "files/safetensors_writer.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, const std::vector<Entry>& entries)
    : path_(path.string()), file_(path) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  for (const auto& entry : entries) {
    const auto bytes = storage_bytes(entry.dtype, entry.shape);
    if (block_shape(entry.dtype).elements != 1 || !bytes) {
      throw Error(ErrorKind::Unsupported, "{}: tensor {}: {} of shape {} cannot be stored as safetensors",
                  path_, entry.name, name(entry.dtype), to_string(entry.shape));
    }
    const std::uint64_t end = expected_ + static_cast<std::uint64_t>(*bytes);
    header[entry.name] = {
        {"dtype", name(entry.dtype)}, {"shape", entry.shape}, {"data_offsets", {expected_, end}}};
    expected_ = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data start aligned
  const std::uint64_t length = text.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(text);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void SafetensorsWriter::finish() {
  if (written_ != expected_) {
    throw Error("{}: {} bytes of tensors written, the header says {}", path_, written_, expected_);
  }
  file_.commit();
}

}  // namespace augur
