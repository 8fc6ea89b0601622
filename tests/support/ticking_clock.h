#pragma once
#include "base/clock.h"

namespace augur::testing_support {

/// Shows a millisecond more each time it is read: what takes how long is then a matter of counting. One
/// thread at a time.
class TickingClock final : public Clock {
 public:
  double now_ms() const override { return now_++; }
  double readings() const { return now_; }

 private:
  mutable double now_ = 0;
};

}  // namespace augur::testing_support
