#include "base/system_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace augur {
namespace {

std::optional<std::int64_t> read_number(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // not there, or "max"
}

std::int64_t system_available() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  for (std::string unit; file >> name >> kib; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t available_memory() {
  const std::int64_t system = system_available();
  const auto limit = read_number("/sys/fs/cgroup/memory.max");
  const auto used = read_number("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return system;
  return std::min(system, std::max<std::int64_t>(0, *limit - *used));
}

}  // namespace augur
