#include "lab/train/part_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace augur {

namespace {

std::atomic<bool> timed = false;
std::mutex mutex;
std::map<std::string, double> times;  // ms

void wait_for(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

}  // namespace

void time_parts() {
  timed = true;
}

std::string part_times() {
  const std::lock_guard lock(mutex);
  std::vector<std::pair<double, std::string>> parts;
  double all = 0;
  for (const auto& [name, ms] : std::exchange(times, {})) {
    parts.emplace_back(ms, name);
    all += ms;
  }
  std::sort(parts.rbegin(), parts.rend());
  std::string text;
  for (const auto& [ms, name] : parts)
    text += fmt::format("{}{} {:.0f} ms ({:.0f}%)", text.empty() ? "" : ", ", name, ms, 100 * ms / all);
  return text;
}

TimedPart::TimedPart(const char* name, torch::Device device)
    : name_(timed ? name : nullptr), device_(device) {
  if (name_ == nullptr) return;
  wait_for(device_);
  clock_.restart();
}

TimedPart::~TimedPart() {
  if (name_ == nullptr) return;
  wait_for(device_);
  const std::lock_guard lock(mutex);
  times[name_] += clock_.ms();
}

}  // namespace augur
