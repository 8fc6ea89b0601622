#pragma once
#include <torch/torch.h>

#include <string>

#include "base/clock.h"

namespace augur {

/// From now on parts of the work are timed, by all threads together. It takes time itself: the device is
/// waited for at both ends of a part.
void time_parts();
/// Milliseconds and share of each part since the last call, the longest first; empty: nothing was timed.
std::string part_times();

/// A part of the work, from here to the end of the scope.
class TimedPart {
 public:
  /// `name`: a literal.
  TimedPart(const char* name, torch::Device device);
  ~TimedPart();
  TimedPart(const TimedPart&) = delete;
  TimedPart& operator=(const TimedPart&) = delete;

 private:
  const char* name_;  ///< null: not timed
  torch::Device device_;
  Stopwatch clock_;
};

}  // namespace augur
