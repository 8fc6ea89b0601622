#include "base/control_group.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace augur {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// None where there is no number: no file, "max", "-1".
std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  return error == std::errc{} && whole && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return number_in(word);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// mountinfo writes white space and backslashes as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const bool octal = text[i] == '\\' && i + 3 < text.size() &&
                       std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3;
    out += octal ? static_cast<char>(code) : text[i];
    if (octal) i += 3;
  }
  return out;
}

/// A mounted hierarchy of groups: which group lies at which folder.
struct Mount {
  std::string group;
  fs::path folder;
  bool unified = false;                  ///< version 2
  std::vector<std::string> controllers;  ///< of version 1
};

std::vector<Mount> mounts(const fs::path& root) {
  // "31 23 0:28 GROUP FOLDER OPTIONS [FIELDS...] - TYPE SOURCE SUPER_OPTIONS"
  std::vector<Mount> found;
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    if (dash[1] != "cgroup" && dash[1] != "cgroup2") continue;
    found.push_back({.group = unescaped(words[3]),
                     .folder = root / fs::path(unescaped(words[4])).relative_path(),
                     .unified = dash[1] == "cgroup2",
                     .controllers = split(dash[3], ',')});
  }
  return found;
}

/// Folders of the process's group and of those above it that `mount` shows. A container often sees its own
/// group as the root, under a path that only its host knows: then there is this one.
std::vector<fs::path> levels(const Mount& mount, const fs::path& group) {
  std::vector<fs::path> folders = {mount.folder};
  const fs::path below = group.lexically_relative(mount.group);
  if (below.empty() || below == "." || *below.begin() == "..") return folders;
  for (const fs::path& part : below) folders.push_back(folders.back() / part);
  return folders;
}

void take_least(std::optional<std::int64_t>& least, std::optional<std::int64_t> value) {
  if (value) least = std::min(least.value_or(*value), *value);
}

/// Bytes of cached files, which the kernel drops when memory is asked for. Shared memory is not among them.
std::int64_t cached_files(const fs::path& folder, const std::string& prefix) {
  std::ifstream file(folder / "memory.stat");
  std::int64_t sum = 0;
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == prefix + "inactive_file" || name == prefix + "active_file") sum += value;
  }
  return sum;
}

/// Version 1 has no word for "no limit": it says the largest number of whole pages.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

void read_memory(const fs::path& folder, bool unified, GroupLimits& out) {
  const auto limit = read_number(folder / (unified ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit >= kNoLimit) return;
  take_least(out.memory, limit);
  const auto used = read_number(folder / (unified ? "memory.current" : "memory.usage_in_bytes"));
  // In version 1 the plain names leave out what lies in groups below.
  const std::int64_t held =
      std::max<std::int64_t>(0, used.value_or(0) - cached_files(folder, unified ? "" : "total_"));
  take_least(out.memory_left, std::max<std::int64_t>(0, *limit - held));
}

void read_cpus(const fs::path& folder, bool unified, GroupLimits& out) {
  std::optional<std::int64_t> quota, period;
  if (unified) {
    std::ifstream file(folder / "cpu.max");
    std::string first, second;
    file >> first >> second;
    quota = number_in(first);
    period = number_in(second);
  } else {
    quota = read_number(folder / "cpu.cfs_quota_us");
    period = read_number(folder / "cpu.cfs_period_us");
  }
  if (!quota || !period || *quota == 0 || *period == 0) return;
  const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
  out.cpus = std::min(out.cpus.value_or(cpus), cpus);
}

}  // namespace

GroupLimits group_limits(const fs::path& root) {
  GroupLimits out;
  const std::vector<Mount> mounted = mounts(root);
  // "0::GROUP" of version 2, "4:memory,blkio:GROUP" of version 1.
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    const fs::path group = line.substr(second + 1);
    for (const Mount& mount : mounted) {
      if (mount.unified != controllers.empty()) continue;
      const auto governs = [&](const char* controller) {
        return mount.unified ||
               (contains(controllers, controller) && contains(mount.controllers, controller));
      };
      for (const fs::path& folder : levels(mount, group)) {
        if (governs("memory")) read_memory(folder, mount.unified, out);
        if (governs("cpu")) read_cpus(folder, mount.unified, out);
      }
    }
  }
  return out;
}

}  // namespace augur
