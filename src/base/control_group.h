#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace augur {

/// What Linux's control groups (containers, units of systemd) grant this process. A group grants no more than
/// the groups it lies in, so each figure is the least over the process's own group and all above it. None: no
/// group sets a limit, or it cannot be read.
struct GroupLimits {
  std::optional<std::int64_t> memory;  ///< bytes
  std::optional<std::int64_t>
      memory_left;             ///< bytes of it that nobody holds, >= 0; cached files are not held
  std::optional<double> cpus;  ///< processors' worth of time, > 0
};

/// Versions 1 and 2, together, too. `root`: the folder that holds proc and what is mounted; tests have their
/// own. Source of the files' meaning: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of Linux. May be
/// called from any thread.
GroupLimits group_limits(const std::filesystem::path& root = "/");

}  // namespace augur
