#include "cli/bus_error.h"

#include <unistd.h>

#include <csignal>

namespace augur::cli {
namespace {

// Only what is safe in a signal handler.
void handler(int) {
  constexpr char kMessage[] =
      "augur: a file became shorter while it was in use, or could not be read (SIGBUS)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  ::_exit(1);
}

}  // namespace

void report_bus_errors() {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace augur::cli
