#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ios>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

/// The file that a link leads to. A link that leads nowhere is replaced.
fs::path followed(const fs::path& path) {
  std::error_code nothing;
  const fs::path target = fs::canonical(path, nothing);
  return nothing ? path : target;
}

/// Permissions of a new file, which only umask() itself could say more directly, by changing them.
mode_t usual_mode() {
  std::ifstream file("/proc/self/status");
  unsigned mask = 0;
  for (std::string word; file >> word; std::getline(file, word)) {
    if (word == "Umask:" && file >> std::oct >> mask) return 0666 & ~mask;
  }
  return 0600;
}

mode_t mode_for(const fs::path& path) {
  struct stat before {};
  return ::stat(path.c_str(), &before) == 0 ? before.st_mode & 0777 : usual_mode();
}

bool is_special(const fs::path& path) {
  std::error_code nothing;
  const fs::file_status status = fs::status(path, nothing);
  return fs::exists(status) && !fs::is_regular_file(status);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path, Access access) : path_(followed(path)), access_(access) {
  if (!is_special(path_)) {
    temporary_.emplace(path_);
    return;
  }
  direct_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (direct_ < 0) fail(errno);
}

AtomicFile::~AtomicFile() {
  if (direct_ >= 0) ::close(direct_);
}

void AtomicFile::fail(int error) const {
  throw Error(ErrorKind::NotFound, "{}: cannot be written: {}", path_.string(), std::strerror(error));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const int descriptor = temporary_ ? temporary_->descriptor() : direct_;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (!temporary_) {
    if (::close(std::exchange(direct_, -1)) != 0) fail(errno);
    return;
  }
  const mode_t mode = access_ == Access::Owner ? 0600 : mode_for(path_);
  const int descriptor = temporary_->descriptor();
  if (::fchmod(descriptor, mode) != 0 || ::fsync(descriptor) != 0) fail(errno);
  if (!temporary_->close() || !temporary_->rename_to(path_)) fail(errno);
}

}  // namespace augur
