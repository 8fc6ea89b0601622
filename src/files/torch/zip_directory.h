#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace augur {

/// One file inside a zip archive, as it lies there.
struct ZipEntry {
  std::uint16_t method = 0;          ///< 0: stored, anything else: compressed
  std::span<const std::byte> bytes;  ///< of the archive; to be unpacked unless stored
};

using ZipEntries = std::map<std::string, ZipEntry, std::less<>>;

/// Reads the central directory of a zip or zip64 archive that lies in memory (PKWARE APPNOTE 6.3.10). Every
/// offset and size is checked against the archive; Error naming `file` (and the entry) for anything
/// malformed, encrypted, doubled or split over several volumes. Checksums are not verified: writers may leave
/// them out, and computing them would read gigabytes that are otherwise mapped lazily. Own code: libzip
/// copies entries out of an archive, minizip leaves it to its caller whether they lie inside a mapped one.
ZipEntries read_zip_directory(std::span<const std::byte> archive, std::string_view file);

/// True when the bytes begin as a zip archive does.
bool looks_like_zip(std::span<const std::byte> bytes);

}  // namespace augur
