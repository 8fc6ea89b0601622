#pragma once
#include <chrono>

namespace augur {

/// Where times come from. Simulations have one of their own.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since some moment; never falls.
  virtual double now_ms() const = 0;
  /// Wall-clock time. May be used from any thread.
  static const Clock& steady();
};

/// Time since construction or the last restart(), in milliseconds.
class Stopwatch {
 public:
  /// `clock` outlives it.
  explicit Stopwatch(const Clock& clock = Clock::steady()) : clock_(&clock), start_(clock.now_ms()) {}

  double ms() const { return clock_->now_ms() - start_; }
  /// Returns the time so far and starts again.
  double restart() {
    const double now = clock_->now_ms();
    const double elapsed = now - start_;
    start_ = now;
    return elapsed;
  }

 private:
  const Clock* clock_;
  double start_;
};

namespace detail {
class SteadyClock final : public Clock {
 public:
  double now_ms() const override {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};
}  // namespace detail

inline const Clock& Clock::steady() {
  static const detail::SteadyClock clock;
  return clock;
}

}  // namespace augur
