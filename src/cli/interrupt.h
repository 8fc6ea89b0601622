#pragma once
#include <atomic>

namespace augur::cli {

/// While it lives, the first SIGINT only sets stop(), which work in progress looks at; the second one ends
/// the program as usual. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Set by the signal; a command with another reason to stop its work may set it, too.
  std::atomic<bool>& stop() const;
  /// True once the signal came.
  bool interrupted() const;
};

}  // namespace augur::cli
