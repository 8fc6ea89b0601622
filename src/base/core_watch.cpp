#include "base/core_watch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace augur {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// /proc/stat, kept open, with room for the lines of all processors.
class ProcStat {
 public:
  ProcStat()
      : file_(open("/proc/stat", O_RDONLY | O_CLOEXEC)),
        text_(kLine * static_cast<std::size_t>(1 + std::max(1L, sysconf(_SC_NPROCESSORS_CONF)))) {}
  ~ProcStat() {
    if (file_ >= 0) close(file_);
  }
  ProcStat(const ProcStat&) = delete;
  ProcStat& operator=(const ProcStat&) = delete;

  /// Its beginning, where the processors' lines are; empty: it cannot be read. Valid until the next call.
  std::string_view read() {
    const ssize_t size = file_ < 0 ? 0 : pread(file_, text_.data(), text_.size(), 0);
    return {text_.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

 private:
  /// "cpu1023" and ten counters of up to twenty digits.
  static constexpr std::size_t kLine = 256;
  const int file_;
  std::vector<char> text_;
};

/// Takes a number and the blanks before it from the beginning of a text.
template <class Number>
bool take(std::string_view& text, Number& number) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

}  // namespace

std::optional<double> busy_ticks(std::string_view proc_stat, std::span<const int> cpus) {
  double total = 0;
  std::size_t found = 0;
  while (!proc_stat.empty()) {
    const std::size_t end = std::min(proc_stat.find('\n'), proc_stat.size());
    std::string_view line = proc_stat.substr(0, end);
    proc_stat.remove_prefix(std::min(end + 1, proc_stat.size()));
    if (!line.starts_with("cpu")) break;  // the processors come first
    line.remove_prefix(3);
    int cpu = -1;
    if (line.starts_with(' ') || !take(line, cpu)) continue;  // all of them together
    if (!std::binary_search(cpus.begin(), cpus.end(), cpu)) continue;
    enum Field { User, Nice, System, Idle, IoWait, Irq, SoftIrq, Fields };
    std::array<std::int64_t, Fields> ticks{};
    for (std::int64_t& value : ticks) {
      if (!take(line, value)) return std::nullopt;
    }
    for (const Field field : {User, Nice, System, Irq, SoftIrq}) total += static_cast<double>(ticks[field]);
    ++found;
  }
  return found == cpus.size() ? std::optional(total) : std::nullopt;
}

CoreWatch::Source CoreWatch::Source::system() {
  const auto ticks = static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return {.busy = [ticks,
                   file = std::make_shared<ProcStat>()](std::span<const int> cpus) -> std::optional<double> {
            const std::optional<double> total = busy_ticks(file->read(), cpus);
            return total ? std::optional(*total / ticks) : std::nullopt;
          },
          .own =
              [] {
                rusage usage{};
                getrusage(RUSAGE_SELF, &usage);
                return seconds(usage.ru_utime) + seconds(usage.ru_stime);
              },
          .now = [] { return Clock::steady().now_ms() / 1e3; }};
}

CoreWatch::CoreWatch(std::vector<int> cpus, Source source)
    : cpus_(std::move(cpus)), source_(std::move(source)) {}

std::optional<int> CoreWatch::look() {
  const double now = source_.now();
  if (cpus_.empty() || (last_ && now - last_->now < kWindow)) return std::nullopt;
  const std::optional<double> busy = source_.busy(cpus_);
  const std::optional<Sample> before =
      std::exchange(last_, busy ? std::optional(Sample{now, source_.own(), *busy}) : std::nullopt);
  // Of a long pause only the average is known, which says little of now.
  if (!before || !last_ || now - before->now > 5 * kWindow) return std::nullopt;
  const double others = ((last_->busy - before->busy) - (last_->own - before->own)) / (now - before->now);
  const int taken = static_cast<int>(std::floor(others + 1 - kTaken));
  const int cores = static_cast<int>(cpus_.size());
  return std::clamp(cores - taken, 1, cores);
}

}  // namespace augur
