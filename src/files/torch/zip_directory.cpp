#include "files/torch/zip_directory.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::size_t kMaxComment = 0xffff;
constexpr std::uint64_t kMaxEntries = 1u << 20;

/// Little-endian fields of a byte range, every access checked.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> range(std::uint64_t offset, std::uint64_t length, std::string_view what) const {
    if (offset > bytes_.size() || length > bytes_.size() - offset)
      throw Error("{}: {} at byte {} ({} bytes) lies outside the archive of {} bytes", file_, what, offset,
                  length, bytes_.size());
    return bytes_.subspan(offset, length);
  }
  std::uint16_t u16(std::uint64_t offset) const { return static_cast<std::uint16_t>(number(offset, 2)); }
  std::uint32_t u32(std::uint64_t offset) const { return static_cast<std::uint32_t>(number(offset, 4)); }
  std::uint64_t u64(std::uint64_t offset) const { return number(offset, 8); }
  std::string text(std::uint64_t offset, std::uint64_t length, std::string_view what) const {
    const auto view = range(offset, length, what);
    return {reinterpret_cast<const char*>(view.data()), view.size()};
  }
  std::string_view file() const { return file_; }

 private:
  std::uint64_t number(std::uint64_t offset, std::size_t length) const {
    std::uint64_t value = 0;
    const auto view = range(offset, length, "a header field");
    for (std::size_t i = length; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(view[i]);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
};

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Position of the end record: the last signature whose comment reaches exactly to the end of the file.
std::optional<std::uint64_t> find_end(const Reader& zip) {
  if (zip.size() < kEndSize) return std::nullopt;
  const std::uint64_t last = zip.size() - kEndSize;
  const std::uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (std::uint64_t at = last + 1; at-- > first;)
    if (zip.u32(at) == kEnd && zip.u16(at + 20) == last - at) return at;
  return std::nullopt;
}

Directory find_directory(const Reader& zip) {
  const auto end = find_end(zip);
  if (!end)
    throw Error("{}: not a complete zip archive: its directory at the end is missing (truncated?)",
                zip.file());
  if (zip.u16(*end + 4) != 0 || zip.u16(*end + 6) != 0)
    throw Error(ErrorKind::Unsupported, "{}: zip archives split over several volumes are not supported",
                zip.file());
  if (*end < kLocatorSize || zip.u32(*end - kLocatorSize) != kEnd64Locator)
    return {.entries = zip.u16(*end + 10), .offset = zip.u32(*end + 16), .size = zip.u32(*end + 12)};
  const std::uint64_t end64 = zip.u64(*end - kLocatorSize + 8);
  zip.range(end64, kEnd64Size, "the zip64 end record");
  if (zip.u32(end64) != kEnd64) throw Error("{}: byte {} should be a zip64 end record", zip.file(), end64);
  if (zip.u32(end64 + 16) != 0 || zip.u32(end64 + 20) != 0)
    throw Error(ErrorKind::Unsupported, "{}: zip archives split over several volumes are not supported",
                zip.file());
  return {.entries = zip.u64(end64 + 32), .offset = zip.u64(end64 + 48), .size = zip.u64(end64 + 40)};
}

struct Sizes {
  std::uint64_t unpacked = 0, packed = 0, header_offset = 0;
};

/// Replaces the fields that say "see the zip64 extra field" (all ones) by its 64-bit values.
void apply_zip64(const Reader& zip, std::uint64_t extra, std::uint64_t extra_size, const std::string& name,
                 Sizes& sizes) {
  constexpr std::uint64_t kSeeExtra = std::numeric_limits<std::uint32_t>::max();
  if (sizes.unpacked != kSeeExtra && sizes.packed != kSeeExtra && sizes.header_offset != kSeeExtra) return;
  const std::uint64_t end = extra + extra_size;
  while (end - extra >= 4) {
    const std::uint16_t id = zip.u16(extra);
    std::uint64_t left = zip.u16(extra + 2);
    extra += 4;
    if (left > end - extra) break;
    if (id != kZip64Extra) {
      extra += left;
      continue;
    }
    for (std::uint64_t* field : {&sizes.unpacked, &sizes.packed, &sizes.header_offset}) {
      if (*field != kSeeExtra) continue;
      if (left < 8) throw Error("{}: entry {}: its zip64 field is too short", zip.file(), name);
      *field = zip.u64(extra);
      extra += 8;
      left -= 8;
    }
    return;
  }
  // Without the field the value is what it says; the bounds check that follows decides.
}

std::span<const std::byte> entry_bytes(const Reader& zip, const std::string& name, const Sizes& sizes) {
  zip.range(sizes.header_offset, kLocalSize, "the header of entry " + name);
  const std::uint64_t at = sizes.header_offset;
  if (zip.u32(at) != kLocalHeader)
    throw Error("{}: entry {}: no entry header at byte {}", zip.file(), name, at);
  const std::uint16_t name_size = zip.u16(at + 26);
  if (zip.text(at + kLocalSize, name_size, "an entry's name") != name)
    throw Error("{}: entry {}: the header at byte {} names another entry", zip.file(), name, at);
  return zip.range(at + kLocalSize + name_size + zip.u16(at + 28), sizes.packed, "entry " + name);
}

}  // namespace

bool looks_like_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::to_integer<int>(bytes[0]) == 'P' &&
         std::to_integer<int>(bytes[1]) == 'K' &&
         ((std::to_integer<int>(bytes[2]) == 3 && std::to_integer<int>(bytes[3]) == 4) ||
          (std::to_integer<int>(bytes[2]) == 5 && std::to_integer<int>(bytes[3]) == 6));
}

ZipEntries read_zip_directory(std::span<const std::byte> archive, std::string_view file) {
  const Reader zip(archive, file);
  const Directory directory = find_directory(zip);
  zip.range(directory.offset, directory.size, "the directory");
  if (directory.entries > kMaxEntries || directory.entries > directory.size / kCentralSize)
    throw Error("{}: the directory claims {} entries in {} bytes", file, directory.entries, directory.size);

  ZipEntries entries;
  std::uint64_t at = directory.offset;
  const std::uint64_t end = directory.offset + directory.size;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (end - at < kCentralSize || zip.u32(at) != kCentralHeader)
      throw Error("{}: directory entry {} is malformed", file, i);
    const std::uint16_t flags = zip.u16(at + 8), method = zip.u16(at + 10);
    const std::uint64_t name_size = zip.u16(at + 28), extra_size = zip.u16(at + 30),
                        comment_size = zip.u16(at + 32);
    if (name_size + extra_size + comment_size > end - at - kCentralSize)
      throw Error("{}: directory entry {} is malformed", file, i);
    std::string name = zip.text(at + kCentralSize, name_size, "an entry's name");
    Sizes sizes{.unpacked = zip.u32(at + 24), .packed = zip.u32(at + 20), .header_offset = zip.u32(at + 42)};
    apply_zip64(zip, at + kCentralSize + name_size, extra_size, name, sizes);
    at += kCentralSize + name_size + extra_size + comment_size;

    if (flags & 1) throw Error("{}: entry {} is encrypted", file, name);
    if (method == 0 && sizes.packed != sizes.unpacked)
      throw Error("{}: entry {}: stored in {} bytes, yet {} long", file, name, sizes.packed, sizes.unpacked);
    const auto bytes = entry_bytes(zip, name, sizes);
    const auto [position, fresh] = entries.emplace(std::move(name), ZipEntry{method, bytes});
    if (!fresh) throw Error("{}: entry {} appears twice", file, position->first);
  }
  return entries;
}

}  // namespace augur
