#pragma once
#include <sched.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace augur {

/// sched_getaffinity of the calling thread: 0, or -1 with errno. EINVAL: the kernel's set is larger.
using ReadAffinity = std::function<int(std::size_t bytes, cpu_set_t* set)>;

/// Numbers of the processors that the calling thread may run on, ascending, however many the machine can
/// have (glibc's own type ends at 1,024). Empty where the system does not say.
std::vector<int> allowed_cpus(const ReadAffinity& read = [](std::size_t bytes, cpu_set_t* set) {
  return sched_getaffinity(0, bytes, set);
});

/// From now on the calling thread runs on these only. 0, or errno where the system refuses: it runs on as
/// before.
int bind_thread(std::span<const int> cpus);
/// The same of another.
int bind_thread(std::thread& thread, std::span<const int> cpus);

/// Threads of a team that is given no size: one for each of the `allowed` processors, or for each that
/// control groups grant the time of (GroupLimits::cpus), rounded up. At least 1.
int usable_cpus(std::size_t allowed, std::optional<double> granted);

}  // namespace augur
