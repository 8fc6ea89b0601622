#include "base/system_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/control_group.h"
#include "base/error.h"

namespace augur {
namespace {

/// A line "NAME: NUMBER kB" of a file under /proc, in bytes.
std::optional<std::int64_t> read_kib(const std::filesystem::path& path, std::string_view name) {
  std::ifstream file(path);
  std::int64_t kib = 0;
  for (std::string word; file >> word; std::getline(file, word)) {
    if (word == name && file >> kib) return kib * 1024;
  }
  return std::nullopt;
}

std::optional<std::int64_t> least(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

std::optional<std::int64_t> memory_limit(const std::filesystem::path& root) {
  return least(read_kib(root / "proc/meminfo", "MemTotal:"), group_limits(root).memory);
}

std::optional<std::int64_t> available_memory(const std::filesystem::path& root) {
  return least(read_kib(root / "proc/meminfo", "MemAvailable:"), group_limits(root).memory_left);
}

void require_memory(std::string_view what, std::int64_t bytes, const std::filesystem::path& root) {
  const std::optional<std::int64_t> limit = memory_limit(root);
  const std::int64_t held = read_kib(root / "proc/self/status", "RssAnon:").value_or(0);
  if (!limit || bytes <= *limit - held) return;
  const auto gib = [](std::int64_t size) { return static_cast<double>(size) / (1 << 30); };
  throw Error(ErrorKind::OutOfMemory,
              "{} take {:.2f} GiB, this process holds {:.2f} GiB and may have {:.2f} GiB of memory", what,
              gib(bytes), gib(held), gib(*limit));
}

}  // namespace augur
