#include "cost/fast_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/calm_times.h"
#include "cost/yardsticks.h"

namespace augur {
namespace {

/// Standard deviation of the logarithm from a knot to the next: neighbours differ by more than a disturbance.
constexpr double kBetween = 2 * CalmTimes::kDisturbed;
constexpr double kSlower = 1.0 / 10000;  ///< of a longer one: some minutes of a busy machine change little

}  // namespace

double FastTimes::doubt() const {
  return std::accumulate(doubt_.begin(), doubt_.end(), 0.0) / kKnots;
}

void FastTimes::set(std::size_t knot, double log_ms, double doubt) {
  log_ms_[knot] = log_ms;
  doubt_[knot] = doubt;
}

void FastTimes::improve(const FastTimes& other) {
  for (std::size_t i = 0; i < kKnots; ++i) {
    log_ms_[i] = std::min(log_ms_[i], other.log_ms_[i]);
    const double sum = doubt_[i] + other.doubt_[i];
    doubt_[i] = sum > 0 ? doubt_[i] * other.doubt_[i] / sum : 0;
  }
}

void FastTimes::distrust(double doubt) {
  for (double& of_knot : doubt_) of_knot = std::max(of_knot, doubt);
}

void FastTimes::follow(const Vector& log_ms) {
  for (std::size_t i = 0; i < kKnots; ++i) {
    const double longer = log_ms[i] - log_ms_[i];
    log_ms_[i] += longer * (longer < 0 ? kRecent : kSlower);
  }
}

void FastTimes::saw(std::size_t knot, double share) {
  doubt_[knot] *= 1 - kRecent * share;
}

void FastTimes::tighten() {
  for (std::size_t i = kKnots - 1; i-- > 0;) {
    const double longer = log_ms_[i] - log_ms_[i + 1];
    // It was disturbed by that much at least.
    if (longer > 0) set(i, log_ms_[i + 1], std::max(doubt_[i], longer));
  }
}

/// The likeliest of a random walk from knot to knot, seen with errors as large as the doubts: a tridiagonal
/// system, solved from the first knot to the last and back.
void FastTimes::smooth() {
  const double stiff = 1 / (kBetween * kBetween);
  Vector diagonal;
  Vector x;
  for (std::size_t i = 0; i < kKnots; ++i) {
    const double doubt = std::max(doubt_[i], kNegligible);
    const double weight = 1 / (doubt * doubt);
    diagonal[i] = weight + (i > 0 ? stiff : 0) + (i + 1 < kKnots ? stiff : 0);
    x[i] = weight * log_ms_[i];
    if (i == 0) continue;
    diagonal[i] -= stiff * stiff / diagonal[i - 1];
    x[i] += stiff * x[i - 1] / diagonal[i - 1];
  }
  x[kKnots - 1] /= diagonal[kKnots - 1];
  for (std::size_t i = kKnots - 1; i-- > 0;) x[i] = (x[i] + stiff * x[i + 1]) / diagonal[i];
  for (std::size_t i = 0; i < kKnots; ++i) {
    if (doubt_[i] >= kNegligible) log_ms_[i] = x[i];
  }
}

}  // namespace augur
