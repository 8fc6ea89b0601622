#pragma once
#include <ctime>

#include "base/clock.h"

namespace augur {

/// What a processor has worked for the thread that asks.
class ThreadClock final : public Clock {
 public:
  double now_ms() const override {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  }
};

}  // namespace augur
