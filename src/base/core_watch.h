#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace augur {

/// Looks how many of the cores that this process may use others leave to it, so that a team of threads that
/// wait for one another need not have one that shares its core. Others' time is what these cores were busy
/// (/proc/stat) less what this process has used of them. One thread at a time; allocates nothing after
/// construction.
class CoreWatch {
 public:
  /// Where the figures come from, all in seconds.
  struct Source {
    /// How long these cores have been busy, all together; none where that is unknown.
    std::function<std::optional<double>(std::span<const int> cpus)> busy;
    std::function<double()> own;  ///< processor time that this process has used
    std::function<double()> now;
    static Source system();
  };

  /// Of the cores `cpus`, ascending.
  explicit CoreWatch(std::vector<int> cpus, Source source = Source::system());

  /// Cores left, 1 to all of them; none while it is too early to tell anything new, which costs nothing to
  /// speak of. To be asked now and then, between steps.
  std::optional<int> look();

  /// Between two answers: /proc/stat counts in hundredths of a second.
  static constexpr double kWindow = 0.2;
  /// Who takes less than this of a core leaves it to the team.
  static constexpr double kTaken = 0.35;

 private:
  struct Sample {
    double now = 0;
    double own = 0;
    double busy = 0;
  };

  std::vector<int> cpus_;
  Source source_;
  std::optional<Sample> last_;
};

/// From the text of /proc/stat: for how long the cores `cpus` (ascending) have been busy, in clock ticks.
/// That is user, nice, system, irq and softirq; what a hypervisor took (steal) is nobody's here. None when
/// one of them is not listed.
std::optional<double> busy_ticks(std::string_view proc_stat, std::span<const int> cpus);

}  // namespace augur
