#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace augur {

/// Whether there is something at `path`. Error where this process may not look it up.
bool file_exists(const std::filesystem::path& path);

/// A file mapped read-only, unmapped in the destructor. Thread-safe. Readers check every size that the file
/// states against the bytes that it had when it was opened, so a file that is too short is an Error then. One
/// that is truncated afterwards, while it is mapped, raises SIGBUS where it is read: no library can make that
/// an Error; the programs end with one line (cli/bus_error.h). Files that are replaced by renaming are safe.
/// Own code: three system calls, with errors that name the path.
class MappedFile {
 public:
  /// Error naming the path when it cannot be opened or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
};

}  // namespace augur
