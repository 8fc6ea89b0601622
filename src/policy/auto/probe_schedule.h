#pragma once
#include <algorithm>

namespace augur {

/// When to try again what does not pay: after 8 rounds without it, then 16, 32, ...
class ProbeSchedule {
 public:
  static constexpr int kFirst = 8;
  static constexpr int kLongest = 512;

  ProbeSchedule() = default;
  /// For a new text, or a drafter that has lost the others' company, when the interval had become `interval`:
  /// it may be another case, but need not be asked about as if nothing were known.
  explicit ProbeSchedule(int interval) : interval_(std::clamp(interval / 4, kFirst, kLongest)) {}

  void wait() { ++waited_; }
  bool due() const { return waited_ >= interval_; }
  void succeeded() {
    interval_ = kFirst;
    waited_ = 0;
  }
  void failed() {
    interval_ = std::min(2 * interval_, kLongest);
    waited_ = 0;
  }
  /// In use without being asked: the schedule begins anew when it stops paying.
  void in_use() { succeeded(); }
  int interval() const { return interval_; }

 private:
  int interval_ = kFirst;
  int waited_ = 0;
};

}  // namespace augur
