#pragma once
#include <filesystem>
#include <string_view>

namespace augur {

/// A new file that only its owner may read or write, under a name that nobody can guess, so that nobody can
/// have put a file or a link there. Open for writing; closed and removed at the end unless it was renamed.
/// Not thread-safe.
class TemporaryFile {
 public:
  static constexpr std::string_view kUsualSuffix = ".tmp";
  /// PREFIX and SUFFIX with something random between. Error, naming them, when it cannot be made.
  explicit TemporaryFile(const std::filesystem::path& prefix, std::string_view suffix = kUsualSuffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }  ///< -1 after close()

  /// False, with errno: something written is not there.
  bool close();
  /// The file is `path` from now on, in place of what was there. False, with errno: nothing has changed.
  bool rename_to(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;  ///< empty after rename_to()
  int descriptor_ = -1;
};

/// Removes what killed processes were writing into a folder when they ended: files that are named as a
/// TemporaryFile of the usual suffix. For a folder that one process writes at a time. What cannot be removed
/// stays.
void remove_abandoned_files(const std::filesystem::path& folder);

}  // namespace augur
