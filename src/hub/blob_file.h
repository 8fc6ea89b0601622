#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "hub/content_hash.h"
#include "hub/hub_list.h"

namespace augur {

/// A file that comes piece by piece, and may go on another time where it ended. Whoever writes holds the lock
/// of its hash. Errors name the file. Not thread-safe.
class BlobFile {
 public:
  /// Goes on with what `incomplete` has, as far as that can be the file's.
  BlobFile(const std::filesystem::path& incomplete, const HubFile& file);
  ~BlobFile();
  BlobFile(const BlobFile&) = delete;
  BlobFile& operator=(const BlobFile&) = delete;

  std::uint64_t bytes() const { return bytes_; }               ///< that are there
  std::uint64_t left() const { return file_.bytes - bytes_; }  ///< that are to come
  /// Error where the disk has not so much space.
  void check_space() const;
  /// Error where it is more than what is left; what was written before stays.
  void add(std::span<const std::byte> bytes);
  void start_anew();
  /// The hash of all bytes: the file's own, unless something went wrong. What was there before is read for
  /// that, and `reading` called with every mebibyte; what it throws ends it.
  std::string hash(const std::function<void()>& reading);
  /// Makes it `path`, on the disk.
  void finish(const std::filesystem::path& path);
  void remove();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  HubFile file_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<ContentHash> hash_;
  std::uint64_t hashed_ = 0;  ///< bytes that hash_ knows
  int descriptor_ = -1;
};

}  // namespace augur
