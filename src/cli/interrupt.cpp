#include "cli/interrupt.h"

#include <array>
#include <cerrno>
#include <csignal>

namespace augur::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

// A signal handler has no context argument: the one piece of state that has to be global.
std::atomic<bool> stop_flag{false};
std::atomic<int> seen{0};  ///< the signal that came; 0: none
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "the handler may only touch lock-free state");
std::array<struct sigaction, kSignals.size()> before;

void put_back() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

void handler(int signal) {
  const int error = errno;
  seen.store(signal);
  stop_flag.store(true);
  put_back();
  errno = error;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_flag.store(false);
  seen.store(0);
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) ::sigaddset(&action.sa_mask, signal);
  // All are read before the first is replaced, whose handler puts all of them back.
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &before[i]);
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  put_back();
}

std::atomic<bool>& InterruptGuard::stop() const {
  return stop_flag;
}
int InterruptGuard::exit_code() const {
  const int signal = seen.load();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace augur::cli
