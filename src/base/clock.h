#pragma once
#include <chrono>

namespace augur {

/// Wall-clock time since construction or the last restart(), in milliseconds.
class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  /// Returns the time so far and starts again.
  double restart() {
    const double elapsed = ms();
    start_ = std::chrono::steady_clock::now();
    return elapsed;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace augur
