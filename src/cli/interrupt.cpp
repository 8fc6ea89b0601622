#include "cli/interrupt.h"

#include <csignal>

namespace augur::cli {
namespace {

// A signal handler has no context argument: the one piece of state that has to be global.
std::atomic<bool> stop_flag{false};
std::atomic<bool> interrupted_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the handler may only touch lock-free state");

void handler(int) {
  interrupted_flag.store(true);
  stop_flag.store(true);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_flag.store(false);
  interrupted_flag.store(false);
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
}

std::atomic<bool>& InterruptGuard::stop() const {
  return stop_flag;
}
bool InterruptGuard::interrupted() const {
  return interrupted_flag.load();
}

}  // namespace augur::cli
