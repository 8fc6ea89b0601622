#pragma once
#include <filesystem>
#include <functional>

namespace augur {

/// A file that one process at a time holds (flock, as huggingface_hub's tools do), until the destructor, or
/// until the process ends. Not thread-safe.
class FileLock {
 public:
  /// Waits until it is free, and calls `waiting` ten times a second meanwhile; what that throws ends it.
  /// Error naming the file where it cannot be made. A file system without such locks is none: content is
  /// checked in any case.
  FileLock(const std::filesystem::path& path, const std::function<void()>& waiting);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace augur
