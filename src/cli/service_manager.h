#pragma once
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace augur::cli {

/// Whoever has started this program and wants to know how it fares: systemd with Type=notify, or what speaks
/// its protocol (sd_notify(3): one datagram a message, which may be sent without its library). Thread-safe.
class ServiceManager {
 public:
  /// As the environment names it: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
  ServiceManager();

  /// "READY=1", "STOPPING=1", "WATCHDOG=1", ... Nothing where nobody asks; what cannot be sent is said once
  /// on standard error.
  void tell(std::string_view state) const;
  /// How often it wants to hear that all goes well, at least; none: it does not.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  std::string socket_;  ///< its path, or '@' and an abstract name; empty: nobody asks
  std::optional<std::chrono::microseconds> watchdog_;
  mutable std::atomic<bool> said_ = false;  ///< what cannot be sent
};

}  // namespace augur::cli
