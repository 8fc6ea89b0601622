#pragma once
#include "base/clock.h"

namespace augur::testing_support {

/// Stands still but for what it is told to pass. One thread at a time.
class HandClock final : public Clock {
 public:
  double now_ms() const override { return now_; }
  void pass(double ms) { now_ += ms; }

 private:
  double now_ = 0;
};

}  // namespace augur::testing_support
