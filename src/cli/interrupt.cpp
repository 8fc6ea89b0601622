#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace augur::cli {
namespace {

// A signal handler has no context argument: the one piece of state that has to be global.
std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the handler may only touch lock-free state");

void handler(int) { flag.store(true); }

}  // namespace

InterruptGuard::InterruptGuard() {
  flag.store(false);
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, SIG_DFL); }

bool InterruptGuard::interrupted() const { return flag.load(); }

}  // namespace augur::cli
