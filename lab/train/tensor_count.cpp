#include "lab/train/tensor_count.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

namespace augur {

namespace {

void raise_to(std::atomic<std::int64_t>& most, std::int64_t value) {
  std::int64_t known = most.load();
  while (known < value && !most.compare_exchange_weak(known, value)) {
  }
}

c10::DebugInfoKind kind() {
  return c10::DebugInfoKind::PROFILER_STATE;
}

}  // namespace

/// What libtorch's allocators report to. Without `override`: which of the two the base class has depends on
/// libtorch's version.
struct TensorCount::Info final : public c10::MemoryReportingInfoBase {
  explicit Info(torch::Device of) : device(of) {}

  void reportMemoryUsage(void* /*block*/, std::int64_t bytes, std::int64_t all, std::int64_t /*reserved*/,
                         c10::Device where) {
    report(bytes, all, where);
  }
  void reportMemoryUsage(void* /*block*/, std::int64_t bytes, std::size_t all, std::size_t /*reserved*/,
                         c10::Device where) {
    report(bytes, static_cast<std::int64_t>(all), where);
  }
  bool memoryProfilingEnabled() const override { return true; }

  void report(std::int64_t bytes, std::int64_t all, c10::Device where) {
    if (where.type() != device.type() || (where.has_index() && device.has_index() && where != device)) return;
    if (!told.exchange(true)) before = std::max<std::int64_t>(all - bytes, 0);
    raise_to(most, live += bytes);
  }

  torch::Device device;
  std::atomic<bool> told = false;
  std::atomic<std::int64_t> live = 0, most = 0, before = 0, recomputed = 0, most_recomputed = 0;
};

TensorCount::TensorCount(torch::Device device) : info_(std::make_shared<Info>(device)) {}
TensorCount::~TensorCount() = default;

std::int64_t TensorCount::live() const {
  return info_->live;
}

std::int64_t TensorCount::most() const {
  return info_->most;
}

std::int64_t TensorCount::before() const {
  return info_->before;
}

std::int64_t TensorCount::recomputed() const {
  return info_->most_recomputed;
}

void TensorCount::next_pack() {
  info_->recomputed = 0;
}

TensorCount::Info* TensorCount::of_thread() {
  return dynamic_cast<Info*>(c10::ThreadLocalDebugInfo::get(kind()));
}

struct TensorCount::Watch::Guard {
  explicit Guard(const std::shared_ptr<Info>& info) : debug_info(kind(), info) {}
  c10::DebugInfoGuard debug_info;
};

TensorCount::Watch::Watch(const TensorCount& count) : guard_(std::make_unique<Guard>(count.info_)) {}
TensorCount::Watch::~Watch() = default;

TensorCount::Recomputing::Recomputing() {
  if (const Info* info = of_thread()) live_ = info->live;
}

void TensorCount::Recomputing::end() {
  Info* info = of_thread();
  if (info == nullptr) return;
  raise_to(info->most_recomputed, info->recomputed += std::max<std::int64_t>(info->live - live_, 0));
}

}  // namespace augur
