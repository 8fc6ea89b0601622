#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace augur {

/// Whether there is something at `path`. Error where this process may not look it up.
bool file_exists(const std::filesystem::path& path);

/// A file mapped read-only, unmapped with its last owner. Thread-safe. Readers check every size that the file
/// states against the bytes that it had when it was opened, so a file that is too short is an Error then. One
/// that is truncated afterwards, while it is mapped, raises SIGBUS where it is read: no library can make that
/// an Error; the programs end with one line (cli/bus_error.h). Files that are replaced by renaming are safe.
/// Own code: three system calls, with errors that name the path.
class MappedFile {
 public:
  /// Error naming the path when it cannot be opened or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  /// The file of an open descriptor, which may be closed afterwards. `name` stands for its path. Error unless
  /// it is a regular file that can be read.
  MappedFile(int descriptor, std::string name);
  /// Bytes that lie in memory and do not change while this lives. `keeper`, which may be null, is held.
  MappedFile(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper, std::string name);
  MappedFile(MappedFile&& other) noexcept = default;
  MappedFile& operator=(MappedFile&& other) noexcept = default;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// Names the content: the file's device, inode and size, and when it was last changed. A file that was
  /// replaced or rewritten has another one, whatever its path. Of bytes in memory: where they lie. Not empty.
  const std::string& identity() const { return identity_; }

 private:
  void map(int descriptor);

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> keeper_;  ///< of `data_`: unmaps it
  std::string path_;
  std::string identity_;
};

}  // namespace augur
