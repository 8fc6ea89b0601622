#include "server/log_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace augur {
namespace {

/// Another description of the same pipe or terminal, with a way of its own to wait: whoever shares standard
/// error with this program keeps his. Below 0: there is none.
int open_without_waiting(int descriptor, const struct stat& status) {
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return -1;
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

}  // namespace

LogTarget::LogTarget(const std::string& file) : descriptor_(STDERR_FILENO), owned_(!file.empty()) {
  if (owned_) {
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                         S_IRUSR | S_IWUSR | S_IRGRP);
    if (descriptor_ < 0)
      throw Error(ErrorKind::NotFound, "{}: cannot be opened for the log: {}", file, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    // It was closed when the program began: the next file to be opened, a client's, would be it.
    descriptor_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    owned_ = true;
  }
  is_socket_ = S_ISSOCK(status.st_mode);  // as journald's
  if (owned_) return;
  if (const int own = open_without_waiting(descriptor_, status); own >= 0) {
    descriptor_ = own;
    owned_ = true;
  }
}

LogTarget::~LogTarget() {
  if (owned_) ::close(descriptor_);
}

LogTarget::LogTarget(LogTarget&& other) noexcept
    : descriptor_(other.descriptor_),
      owned_(std::exchange(other.owned_, false)),
      is_socket_(other.is_socket_) {}

LogTarget& LogTarget::operator=(LogTarget&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(owned_, other.owned_);
  std::swap(is_socket_, other.is_socket_);
  return *this;
}

std::ptrdiff_t LogTarget::write_some(std::string_view text) const {
  // So much a pipe takes that can be written to, also one that could not be opened anew.
  text = text.substr(0, PIPE_BUF);
  pollfd target{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  if (::poll(&target, 1, 0) == 0) return 0;
  const ssize_t taken = is_socket_
                            ? ::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                            : ::write(descriptor_, text.data(), text.size());
  if (taken >= 0) return taken;
  return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

void LogTarget::wait(int milliseconds) const {
  pollfd target{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  ::poll(&target, 1, milliseconds);
}

LogWriter::LogWriter(const std::string& file, std::function<void(const std::string&)> report)
    : file_(file),
      report_(std::move(report)),
      target_(file),
      thread_(start_thread("augur-log", [this] { run(); })) {}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LogWriter::write(std::string_view line) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (bytes_ + line.size() > kQueueBytes) return drop();
    lines_.emplace_back(line);
    bytes_ += line.size();
    changed_.notify_one();
  } catch (...) {  // no memory
    drop();
  }
}

void LogWriter::reopen() {
  if (file_.empty()) return;
  const std::lock_guard lock(mutex_);
  reopening_ = true;
  changed_.notify_one();
}

void LogWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !lines_.empty() || reopening_ || ending_; });
    const bool reopens = std::exchange(reopening_, false);
    if (lines_.empty() && !reopens) return;
    std::string line;
    if (!lines_.empty()) {
      line = std::move(lines_.front());
      lines_.pop_front();
    }
    lock.unlock();
    if (reopens) open_anew();
    const bool written = put(line);
    lock.lock();
    bytes_ -= line.size();
    const bool has_room = bytes_ <= kQueueBytes / 2;
    lock.unlock();
    if (written && has_room) tell_dropped();
    lock.lock();
  }
}

void LogWriter::open_anew() {
  try {
    target_ = LogTarget(file_);
    torn_ = false;
  } catch (const std::exception& error) {
    report_(std::string(error.what()) + "; it goes on in the file that is open");
  }
}

/// False: it is lost, all of it or its end.
bool LogWriter::put(std::string_view line) {
  constexpr int kLook = 100;  // ms: until it is seen that the end has come
  if (torn_ && target_.write_some("\n") == 1) torn_ = false;
  const std::size_t whole = line.size();
  while (!line.empty()) {
    const std::ptrdiff_t taken = target_.write_some(line);
    if (taken > 0) {
      line.remove_prefix(static_cast<std::size_t>(taken));
      idle_ms_ = 0;
    } else if (taken < 0 || gives_up()) {
      drop();
      if (taken < 0) error_ = static_cast<int>(-taken);
      torn_ |= line.size() < whole;
      return false;
    } else {
      target_.wait(kLook);
      if (ending_) idle_ms_ += kLook;
    }
  }
  return true;
}

/// Whether the end has come, and nobody takes what is left.
bool LogWriter::gives_up() const {
  constexpr int kPatience = 1000;  // ms
  return ending_ && idle_ms_ >= kPatience;
}

/// After a line that was written: where all are lost, this would be, too.
void LogWriter::tell_dropped() {
  const std::int64_t dropped = dropped_;
  if (dropped == told_) return;
  report_(fmt::format("{} lines of the log are lost: {}", dropped - std::exchange(told_, dropped),
                      error_ == 0 ? "more waited than may" : std::strerror(error_)));
  error_ = 0;
}

}  // namespace augur
