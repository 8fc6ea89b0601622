#include "cli/hangup.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace augur::cli {
namespace {

// A signal handler has no context argument.
std::atomic<bool> noted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the handler may only touch lock-free state");
struct sigaction before;

void note(int /*signal*/) {
  noted.store(true);
}

bool has_terminal() {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return false;
  ::close(terminal);
  return true;
}

}  // namespace

HangupGuard::HangupGuard() {
  noted.store(false);
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGHUP, &action, &before);
  const bool ignored = before.sa_handler == SIG_IGN;  // by nohup: it is to outlive its terminal
  ends_with_terminal_ = !ignored && has_terminal();
}

HangupGuard::~HangupGuard() {
  ::sigaction(SIGHUP, &before, nullptr);
}

bool HangupGuard::came() {
  if (!noted.exchange(false)) return false;
  if (ends_with_terminal_ && !has_terminal()) {
    ::raise(SIGTERM);
    return false;
  }
  return true;
}

}  // namespace augur::cli
