#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/temporary_file.h"

namespace augur {

/// Writes a file that appears under its name only when it is complete: content goes to a temporary file in
/// the same folder; commit() flushes it to the disk and renames. Until then, and when anything fails, the
/// file that was there before stays as it is, and nothing is left behind. A link is followed; what is no
/// regular file (a pipe, /dev/stdout) is written to directly. Every failure is an Error that names the file.
/// Not thread-safe.
class AtomicFile {
 public:
  /// Who may read the finished file.
  enum class Access {
    Usual,  ///< as the file that was there before, or else as the user's umask has it
    Owner,  ///< nobody else: it holds what somebody wrote
  };

  explicit AtomicFile(const std::filesystem::path& path, Access access = Access::Usual);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  Access access_;
  std::optional<TemporaryFile> temporary_;
  int direct_ = -1;  ///< what is no regular file; -1: there is a temporary file
};

}  // namespace augur
