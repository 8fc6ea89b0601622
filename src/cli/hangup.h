#pragma once

namespace augur::cli {

/// While it lives, SIGHUP is noted instead of ending the program, and what it did before is put back at the
/// end. Where the program had a terminal and that has gone, it ends as by SIGTERM: nobody would find it any
/// more. One at a time.
class HangupGuard {
 public:
  HangupGuard();
  ~HangupGuard();
  HangupGuard(const HangupGuard&) = delete;
  HangupGuard& operator=(const HangupGuard&) = delete;

  /// Whether one came since it was asked last.
  bool came();

 private:
  bool ends_with_terminal_ = false;
};

}  // namespace augur::cli
