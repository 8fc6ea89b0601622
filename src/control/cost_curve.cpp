#include "control/cost_curve.h"

#include <algorithm>
#include <cmath>

namespace augur {
namespace {

constexpr double kLargestStep = 1.5;  ///< one observation counts as no more than this times the estimate
constexpr double kSlowestRate = 1.0 / 48;
constexpr double kLeastMs = 1e-6;
/// A knot that its last few observations (so many, in the mean) all lie so far from is learned anew.
constexpr double kSurpriseRate = 1.0 / 6;
constexpr double kContradicted = 0.15;
constexpr double kMostSurprise = 0.3;  ///< of one observation: three interrupted steps do not suffice
constexpr double kDoubted = 3;         ///< observations that it is worth from then on

}  // namespace

CostCurve::CostCurve(double base_ms, double slope) {
  for (std::size_t i = 0; i < kKnots; ++i) ms_[i] = base_ms * (1 + slope * (kRows[i] - 1));
}

CostCurve::Place CostCurve::place(double rows) {
  if (rows <= kRows.front()) return {0, 0.0};
  std::size_t high = 1;
  while (high + 1 < kKnots && kRows[high] < rows) ++high;
  return {high - 1, (rows - kRows[high - 1]) / (kRows[high] - kRows[high - 1])};
}

double CostCurve::at(double rows) const {
  const Place p = place(rows);
  const double low = ms_[p.low];
  const double high = ms_[std::min(p.low + 1, kKnots - 1)];
  return std::max(kLeastMs, low + p.high_share * (high - low));
}

void CostCurve::set(double rows, double ms, double count) {
  const Place p = place(rows);
  const std::size_t knot = p.high_share < 0.5 ? p.low : p.low + 1;
  total_ += count - count_[knot];
  ms_[knot] = std::max(kLeastMs, ms);
  count_[knot] = count;
}

void CostCurve::nudge(std::size_t knot, double weight, double ratio) {
  if (weight <= 0) return;
  const double surprise = std::clamp(ratio - 1, -kMostSurprise, kMostSurprise);
  surprise_[knot] += kSurpriseRate * weight * (surprise - surprise_[knot]);
  if (std::abs(surprise_[knot]) > kContradicted && count_[knot] > kDoubted) {
    total_ -= count_[knot] - kDoubted;
    count_[knot] = kDoubted;
    surprise_[knot] = 0;
  }
  const double rate = weight * std::max(1.0 / (count_[knot] + 1), kSlowestRate);
  ms_[knot] = std::max(kLeastMs, ms_[knot] * (1 + rate * (ratio - 1)));
  count_[knot] += weight;
  total_ += weight;
}

void CostCurve::observe(double rows, double ms) {
  if (!(ms > 0) || !(rows > 0)) return;
  const double expected = at(rows);
  // The first time ever says how fast the machine is; the guess was about the shape.
  if (!observed()) {
    scale(ms / expected);
    const Place p = place(rows);
    count_[p.low] = total_ = 1;
    return;
  }
  const double ratio = std::clamp(ms / expected, 1 / kLargestStep, kLargestStep);
  const Place p = place(rows);
  const double share = std::min(p.high_share, 1.0);
  nudge(p.low, 1 - share, ratio);
  nudge(std::min(p.low + 1, kKnots - 1), share, ratio);
}

void CostCurve::fill_gaps() {
  std::size_t before = kKnots;
  for (std::size_t i = 0; i < kKnots; ++i) {
    if (count_[i] == 0) continue;
    for (std::size_t j = before == kKnots ? 0 : before + 1; j < i; ++j) {
      const double share = before == kKnots ? 1.0 : (kRows[j] - kRows[before]) / (kRows[i] - kRows[before]);
      ms_[j] = before == kKnots ? ms_[i] : ms_[before] + share * (ms_[i] - ms_[before]);
    }
    before = i;
  }
  if (before == kKnots) return;
  // Beyond what was measured time goes on growing as it did over the last stretch.
  std::size_t earlier = before;
  while (earlier > 0 && count_[--earlier] == 0) {
  }
  const double slope =
      earlier < before ? std::max(0.0, (ms_[before] - ms_[earlier]) / (kRows[before] - kRows[earlier])) : 0.0;
  for (std::size_t j = before + 1; j < kKnots; ++j) ms_[j] = ms_[before] + slope * (kRows[j] - kRows[before]);
}

void CostCurve::flatten_peaks() {
  for (std::size_t i = kKnots - 1; i-- > 0;) ms_[i] = std::min(ms_[i], ms_[i + 1]);
}

void CostCurve::scale(double factor) {
  for (double& ms : ms_) ms = std::max(kLeastMs, ms * factor);
}

void CostCurve::restore(std::size_t knot, double ms, double count) {
  total_ += count - count_[knot];
  ms_[knot] = std::max(kLeastMs, ms);
  count_[knot] = count;
}

}  // namespace augur
