#include "server/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace augur {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Of /proc/self/stat (proc(5)).
struct ProcessStatus {
  double cpu_ticks = 0;  ///< in user mode and in the kernel
  double threads = 0;
  double start_ticks = 0;  ///< since the machine started
  double virtual_bytes = 0;
  double resident_pages = 0;
};

std::optional<ProcessStatus> read_status() {
  std::string line;
  std::ifstream file("/proc/self/stat");
  if (!std::getline(file, line)) return std::nullopt;
  // The program's name may hold anything; behind it are numbers, the third of all fields first.
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string state;
  rest >> state;
  std::vector<double> fields(4);  // so that indices are proc(5)'s
  for (double value = 0; rest >> value;) fields.push_back(value);
  if (fields.size() < 25) return std::nullopt;
  return ProcessStatus{.cpu_ticks = fields[14] + fields[15],
                       .threads = fields[20],
                       .start_ticks = fields[22],
                       .virtual_bytes = fields[23],
                       .resident_pages = fields[24]};
}

/// Seconds since 1970 at which the machine started.
std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return std::nullopt;
}

std::optional<double> open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return std::nullopt;
  return static_cast<double>(std::distance(begin(files), end(files)));
}

}  // namespace

std::vector<MetricFamily> process_metrics() {
  std::vector<MetricFamily> families;
  const auto add = [&](MetricType type, const char* name, const char* help, double value) {
    ClientMetric metric;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    families.push_back({.name = name, .help = help, .type = type, .metric = {std::move(metric)}});
  };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const std::optional<ProcessStatus> status = read_status()) {
    add(MetricType::Counter, "process_cpu_seconds_total", "Time of all cores together.",
        status->cpu_ticks / ticks);
    add(MetricType::Gauge, "process_resident_memory_bytes", "Memory that is in the machine's.",
        status->resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    add(MetricType::Gauge, "process_virtual_memory_bytes", "Address space.", status->virtual_bytes);
    add(MetricType::Gauge, "process_threads", "Threads.", status->threads);
    if (const std::optional<double> boot = boot_time()) {
      add(MetricType::Gauge, "process_start_time_seconds", "When the process began, since 1970.",
          *boot + status->start_ticks / ticks);
    }
  }
  if (const std::optional<double> files = open_files()) {
    add(MetricType::Gauge, "process_open_fds", "Files and connections that are open.", *files);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add(MetricType::Gauge, "process_max_fds", "Files and connections that may be.",
        static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace augur
