#pragma once
#include <cstdint>

namespace augur {

/// Counts the steps of what compiles a grammar on this thread, before and beside the library's own count.
class WorkMeter {
 public:
  virtual ~WorkMeter() = default;
  /// Throws to stop.
  virtual void spend(std::int64_t steps) = 0;

  /// This thread's; null: nobody counts.
  static WorkMeter*& current() {
    thread_local WorkMeter* meter = nullptr;
    return meter;
  }
};

/// So many steps, each less than a microsecond.
inline void spend_steps(std::int64_t steps) {
  if (WorkMeter* const meter = WorkMeter::current()) meter->spend(steps);
}

}  // namespace augur
