#include "cli/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cli/tell.h"

namespace augur::cli {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// None: it is no number above 0.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

/// 0, or errno.
int send(std::string_view socket, std::string_view state) {
  sockaddr_un address{};
  if (socket.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  address.sun_family = AF_UNIX;
  std::copy(socket.begin(), socket.end(), address.sun_path);
  if (socket.front() == '@') address.sun_path[0] = '\0';
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  // A manager that reads nothing must not stop us for ever.
  constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  const ssize_t sent = ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), bytes);
  const int error = sent < 0 ? errno : 0;
  ::close(descriptor);
  return error;
}

}  // namespace

ServiceManager::ServiceManager() : socket_(variable("NOTIFY_SOCKET")) {
  const std::optional<std::int64_t> process = number(variable("WATCHDOG_PID"));
  if (process && *process != ::getpid()) return;  // it is meant for another
  if (const auto us = number(variable("WATCHDOG_USEC"))) watchdog_ = std::chrono::microseconds(*us);
}

void ServiceManager::tell(std::string_view state) const {
  if (socket_.empty()) return;
  const int error = send(socket_, state);
  if (error == 0 || said_.exchange(true)) return;
  cli::tell("augur: warning: NOTIFY_SOCKET {} cannot be told {}: {}\n", socket_, state, std::strerror(error));
}

}  // namespace augur::cli
