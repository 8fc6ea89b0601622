#include "policy/auto/cost_curve.h"

#include <algorithm>
#include <cmath>

namespace augur {
namespace {

/// One observation counts as no more than this times the estimate; as no more than that times one that has
/// been doubted since a few observations.
constexpr double kLargestStep = 1.5;
constexpr double kLargestDoubtedStep = 4.0;
constexpr double kSlowestRate = 1.0 / 48;
constexpr double kLeastMs = 1e-6;
/// A knot that its last few observations (so many, in the mean) all lie so far from is learned anew.
constexpr double kSurpriseRate = 1.0 / 6;
constexpr double kContradicted = 0.15;
constexpr double kMostSurprise = 0.3;  ///< of one observation: three interrupted steps do not suffice
constexpr double kDoubted = 2;         ///< observations that it is worth from then on
constexpr double kFamiliar = 8;        ///< observations after which a knot is known
constexpr double kSettled = 6;         ///< by then it is no longer doubted

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

double CostCurve::known(double rows) const {
  const double most = *std::max_element(seen_.begin(), seen_.end());
  if (most < 1) return 1;
  const Place p = place(rows);
  const double seen = (1 - p.high_share) * seen_[p.low] +
                      std::min(p.high_share, 1.0) * seen_[std::min(p.low + 1, kKnots - 1)];
  return std::min(1.0, seen / std::min(most, kFamiliar));
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
    doubted_[knot] = true;
  }
  if (count_[knot] >= kSettled) doubted_[knot] = false;
  const double step = doubted_[knot] ? kLargestDoubtedStep : kLargestStep;
  const double rate = weight * std::max(1.0 / (count_[knot] + 1), kSlowestRate);
  const double factor = 1 + rate * (std::clamp(ratio, 1 / step, step) - 1);
  ms_[knot] = std::max(kLeastMs, ms_[knot] * factor);
  count_[knot] += weight;
  total_ += weight;
  seen_[knot] += weight;
  take_along(knot, factor);
}

/// Moves the knots next to `knot` that were never observed: those between it and one that was by a share that
/// falls on the way, those beyond all that were by as much. Those before all that were stay, but none is to
/// take longer than it.
void CostCurve::take_along(std::size_t knot, double factor) {
  const auto move = [&](std::size_t i, double share) {
    ms_[i] = std::max(kLeastMs, ms_[i] * (1 + share * (factor - 1)));
  };
  std::size_t high = knot + 1;
  while (high < kKnots && seen_[high] == 0) ++high;
  for (std::size_t i = knot + 1; i < high; ++i) {
    move(i, high == kKnots ? 1.0 : static_cast<double>(high - i) / static_cast<double>(high - knot));
  }
  std::size_t low = knot;
  while (low > 0 && seen_[low - 1] == 0) --low;
  for (std::size_t i = low; i < knot; ++i) {
    if (low > 0) move(i, static_cast<double>(i + 1 - low) / static_cast<double>(knot + 1 - low));
    if (low == 0) ms_[i] = std::min(ms_[i], ms_[knot]);
  }
}

void CostCurve::observe(double rows, double ms) {
  if (!(ms > 0) || !(rows > 0)) return;
  const double expected = at(rows);
  // The first time ever says how fast the machine is; the guess was about the shape.
  if (!observed()) {
    scale(ms / expected);
    const Place p = place(rows);
    count_[p.low] = total_ = 1;
    seen_[p.low] = 1;
    return;
  }
  const double ratio = ms / expected;
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
