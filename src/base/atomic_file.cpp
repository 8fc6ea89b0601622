#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace augur {

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path.string()), temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw Error("{}: cannot create: {}", temporary_, std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error("{}: cannot write: {}", temporary_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw Error("{}: cannot write: {}", temporary_, std::strerror(errno));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw Error("{}: cannot rename to {}: {}", temporary_, path_, std::strerror(errno));
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace augur
