#pragma once
#include <cstdint>
#include <utility>

namespace augur {

/// Counts the steps and bytes of what compiles a grammar on this thread, before and beside the library's own
/// count.
class WorkMeter {
 public:
  virtual ~WorkMeter() = default;
  /// Throws to stop.
  virtual void spend(std::int64_t steps) = 0;
  /// So many more bytes are held. Throws to stop, and then holds them all the same.
  virtual void hold(std::int64_t bytes) = 0;
  virtual void give_back(std::int64_t bytes) noexcept = 0;

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

/// The bytes that one structure holds of the meter under which it is made, which outlives it. A copy holds as
/// many again.
class MeteredBytes {
 public:
  MeteredBytes() = default;
  MeteredBytes(const MeteredBytes& other) { add(other.bytes_); }
  MeteredBytes(MeteredBytes&& other) noexcept
      : meter_(std::exchange(other.meter_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MeteredBytes& operator=(MeteredBytes other) noexcept {
    std::swap(meter_, other.meter_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MeteredBytes() {
    if (meter_ != nullptr) meter_->give_back(bytes_);
  }

  void add(std::int64_t bytes) {
    if (meter_ == nullptr) meter_ = WorkMeter::current();
    if (meter_ == nullptr) return;
    bytes_ += bytes;
    meter_->hold(bytes);
  }

 private:
  WorkMeter* meter_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace augur
