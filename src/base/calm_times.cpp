#include "base/calm_times.h"

#include <algorithm>
#include <limits>

#include "base/elementary.h"

namespace augur {
namespace {

/// Milliseconds that nothing takes less than: less than a clock's tick.
constexpr double kLeastMs = std::numeric_limits<float>::epsilon();

}  // namespace

void CalmTimes::add(double thing, double ms) {
  times_[thing].push_back(std::max(ms, kLeastMs));
}

/// Disturbances are taken to lengthen logarithms by an exponential distribution: of n moments the shortest is
/// then too long by 1 / n of its mean, which all things together tell.
std::vector<CalmTimes::Time> CalmTimes::times() const {
  std::vector<Time> times;
  double excess = 0;
  double compared = 0;
  for (const auto& [thing, seen] : times_) {
    const double calmest = *std::min_element(seen.begin(), seen.end());
    std::vector<double> calm;
    for (const double ms : seen) {
      excess += elementary::log(ms / calmest);
      if (ms <= (1 + kDisturbed) * calmest) calm.push_back(ms);
    }
    compared += static_cast<double>(seen.size()) - 1;
    const auto median = calm.begin() + (std::ssize(calm) - 1) / 2;
    std::nth_element(calm.begin(), median, calm.end());
    times.push_back({.thing = thing, .ms = *median, .doubt = 1 / static_cast<double>(seen.size())});
  }
  for (Time& time : times) time.doubt *= compared > 0 ? excess / compared : kDisturbed;
  return times;
}

}  // namespace augur
