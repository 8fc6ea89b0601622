#include "files/gguf/split_writer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "files/gguf/split.h"

namespace augur {

namespace {

using Entries = std::vector<GgufWriter::Entry>;

/// 0 for what GgufWriter is about to refuse.
std::int64_t bytes_of(const GgufWriter::Entry& entry) {
  return storage_bytes(entry.dtype, entry.shape).value_or(0);
}

std::vector<Entries> parts_of(const Entries& entries, const GgufSplit& split) {
  std::vector<Entries> parts(1);
  std::int64_t bytes = 0;
  for (const GgufWriter::Entry& entry : entries) {
    const std::int64_t more = bytes_of(entry);
    const bool full = (split.max_tensors > 0 && std::ssize(parts.back()) >= split.max_tensors) ||
                      (split.max_bytes > 0 && more > split.max_bytes - bytes);
    if (full && !parts.back().empty()) {
      parts.emplace_back();
      bytes = 0;
    }
    bytes += more;
    parts.back().push_back(entry);
  }
  return parts;
}

}  // namespace

SplitGgufWriter::SplitGgufWriter(const std::filesystem::path& path, const GgufMetadata& metadata,
                                 const Entries& entries, const GgufSplit& split) {
  const std::vector<Entries> parts = parts_of(entries, split);
  if (std::ssize(parts) > kMostSplitParts) {
    throw Error("{}: would have {} parts, the format counts {}", path.string(), parts.size(),
                kMostSplitParts);
  }
  std::filesystem::path prefix = path;
  if (prefix.extension() == ".gguf") prefix.replace_extension();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    GgufMetadata keys = i == 0 ? metadata : GgufMetadata();
    paths_.push_back(path);
    if (split.wanted()) {
      const auto count = std::ssize(parts);
      paths_.back() =
          split_name({.prefix = prefix.string(), .number = static_cast<std::int64_t>(i) + 1, .count = count});
      keys.set_u16(kSplitNumberKey, static_cast<std::uint16_t>(i));
      keys.set_u16(kSplitCountKey, static_cast<std::uint16_t>(count));
      keys.set_i32(kSplitTensorsKey, static_cast<std::int32_t>(entries.size()));
    }
    parts_.push_back(std::make_unique<GgufWriter>(paths_.back(), keys, parts[i]));
    std::uint64_t bytes = 0;
    for (const GgufWriter::Entry& entry : parts[i]) bytes += static_cast<std::uint64_t>(bytes_of(entry));
    left_.push_back(bytes);
  }
}

void SplitGgufWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    while (left_[part_] == 0 && part_ + 1 < parts_.size()) ++part_;
    // What is too much is the last part's to refuse.
    const std::uint64_t most = part_ + 1 < parts_.size() ? left_[part_] : bytes.size();
    const std::span<const std::byte> piece =
        bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes.size())));
    parts_[part_]->write(piece);
    left_[part_] -= std::min<std::uint64_t>(left_[part_], piece.size());
    bytes = bytes.subspan(piece.size());
  }
}

void SplitGgufWriter::finish() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (left_[i] > 0)
      throw Error("{}: {} bytes of its tensors are not written", paths_[i].string(), left_[i]);
  }
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
    (*part)->finish();  // the first is there last
}

}  // namespace augur
