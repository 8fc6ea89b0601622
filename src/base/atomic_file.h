#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace augur {

/// Writes a file that appears under its name only when it is complete: content goes to a temporary name in
/// the same folder; commit() flushes it to the disk and renames. Without commit() nothing is left behind.
/// Every failing write is an Error. Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace augur
