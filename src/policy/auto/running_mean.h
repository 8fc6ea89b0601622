#pragma once
#include <algorithm>

namespace augur {

/// A running mean that learns quickly at first.
class RunningMean {
 public:
  void observe(double value, double longest, double weight = 1) {
    count_ = std::min(count_ + weight, longest);
    mean_ += (value - mean_) * weight / count_;
  }
  /// Believed less from here on: as if it came from `count` values at most.
  void limit(double count) { count_ = std::min(count_, count); }
  double mean() const { return mean_; }
  double count() const { return count_; }

 private:
  double mean_ = 0;
  double count_ = 0;
};

}  // namespace augur
