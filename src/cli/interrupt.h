#pragma once
#include <atomic>

namespace augur::cli {

/// While it lives, the first SIGINT or SIGTERM only sets stop(), which work in progress looks at, and puts
/// back what these signals did before: the second one ends the program, as usual. The destructor puts it
/// back, too. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Set by the signal; a command with another reason to stop its work may set it, too.
  std::atomic<bool>& stop() const;
  /// True once a signal came.
  bool interrupted() const { return exit_code() != 0; }
  /// 128 + the signal, as shells say it; 0: none came.
  int exit_code() const;
};

}  // namespace augur::cli
