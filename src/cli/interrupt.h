#pragma once

namespace augur::cli {

/// While it lives, the first SIGINT only sets a flag that work in progress asks for; the second one ends the
/// program as usual. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;
};

}  // namespace augur::cli
