#include "hub/blob_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace augur {

BlobFile::BlobFile(const std::filesystem::path& incomplete, const HubFile& file)
    : path_(incomplete), file_(file), hash_(std::make_unique<ContentHash>(file.hash, file.bytes)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail(errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Error(ErrorKind::NotFound, "{}: expected a regular file", path_.string());
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  if (bytes_ > file_.bytes) start_anew();
}

BlobFile::~BlobFile() {
  ::close(descriptor_);
}

void BlobFile::fail(int error) const {
  throw Error(ErrorKind::NotFound, "{}: cannot be written: {}", path_.string(), std::strerror(error));
}

void BlobFile::check_space() const {
  struct statvfs disk {};
  if (::fstatvfs(descriptor_, &disk) != 0) return;  // writing will tell
  const std::uint64_t room = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (room >= left()) return;
  throw Error(ErrorKind::NotFound, "{}: {} takes {:.2f} GB more, the disk has room for {:.2f}",
              path_.parent_path().string(), file_.path, static_cast<double>(left()) / 1e9,
              static_cast<double>(room) / 1e9);
}

void BlobFile::add(std::span<const std::byte> bytes) {
  if (bytes.size() > left()) {
    throw Error("{}: more than the {} bytes that the hub lists came", file_.path, file_.bytes);
  }
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    const auto count = static_cast<std::size_t>(written);
    if (hashed_ == bytes_) {  // else hash() reads what comes before first
      hash_->add(bytes.first(count));
      hashed_ += count;
    }
    bytes_ += count;
    bytes = bytes.subspan(count);
  }
}

void BlobFile::start_anew() {
  if (::ftruncate(descriptor_, 0) != 0) fail(errno);
  bytes_ = hashed_ = 0;
  hash_ = std::make_unique<ContentHash>(file_.hash, file_.bytes);
}

std::string BlobFile::hash(const std::function<void()>& reading) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  std::vector<std::byte> piece(hashed_ < bytes_ ? kAtOnce : 0);
  while (hashed_ < bytes_) {
    reading();
    const ssize_t count = ::pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(hashed_));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error(ErrorKind::NotFound, "{}: cannot be read: {}", path_.string(),
                  std::strerror(count < 0 ? errno : EIO));
    }
    hash_->add(std::span(piece).first(static_cast<std::size_t>(count)));
    hashed_ += static_cast<std::uint64_t>(count);
  }
  return hash_->hex();
}

void BlobFile::finish(const std::filesystem::path& path) {
  if (::fsync(descriptor_) != 0 || ::rename(path_.c_str(), path.c_str()) != 0) fail(errno);
}

void BlobFile::remove() {
  ::unlink(path_.c_str());
}

}  // namespace augur
