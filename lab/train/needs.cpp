#include "lab/train/needs.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"

namespace augur {

namespace {

std::string size(std::int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.0f} MiB", std::max(mib, 1.0)) : fmt::format("{:.1f} GiB", mib / 1024);
}

}  // namespace

std::string duration(double seconds) {
  const auto minutes = static_cast<std::int64_t>(seconds / 60);
  if (minutes >= 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return minutes > 0 ? fmt::format("{} min", minutes) : fmt::format("{:.0f} s", seconds);
}

std::string TrainingNeeds::summary() const {
  std::string text = fmt::format(
      "{} tokens to learn: about {} ({:.0f} tok/s in a step made for this), {} of memory, ", tokens,
      duration(static_cast<double>(tokens) / tokens_a_second), tokens_a_second, size(memory_bytes));
  if (device_bytes > 0) text += fmt::format("at least {} of the device's memory, ", size(device_bytes));
  text += fmt::format("{} of disk", size(disk_bytes));
  if (gradient_checkpointing)
    text += fmt::format("; with gradient checkpointing, without which it would take {} more memory",
                        size(recomputed_bytes));
  return text;
}

std::int64_t peak_memory_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return std::int64_t{usage.ru_maxrss} * 1024;
}

void check_room(const std::filesystem::path& folder, std::int64_t needed, std::int64_t there) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return;  // what cannot be asked is found out when it is written
  const std::int64_t more = std::max<std::int64_t>(needed - there, 0);
  if (static_cast<std::uintmax_t>(more) > space.available) {
    throw Error(
        "{}: a checkpoint and the one that it replaces take {} on the disk, expected {} more to be free, "
        "found {}",
        folder.string(), size(needed), size(more), size(static_cast<std::int64_t>(space.available)));
  }
}

}  // namespace augur
