#include "hub/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace augur {

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& waiting) {
  constexpr mode_t kGroup = 0664;  // who shares a cache waits for each other
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kGroup);
  if (descriptor_ < 0)
    throw Error(ErrorKind::NotFound, "{}: cannot be made: {}", path.string(), std::strerror(errno));
  try {
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
      waiting();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

}  // namespace augur
