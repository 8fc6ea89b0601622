#include "policy/auto/cost_model.h"

#include <algorithm>

namespace augur {
namespace {

constexpr double kDriftRate = 1.0 / 16;
constexpr double kLargestDriftStep = 1.5;
/// At first the machine's speed is what the steps say: so many, of which one says no more than this.
constexpr std::int64_t kFirstSteps = 8;
constexpr double kLargestFirstStep = 3.0;
constexpr double kMostOfContext = 0.9;  ///< of the time at the reference context

/// `known`: how far the table is. What contradicts a time that was never seen contradicts the table rather
/// than says anything of the machine's speed. `steps`: seen before.
double drifted(double drift, double ratio, double known, std::int64_t steps) {
  const double largest = steps < kFirstSteps ? kLargestFirstStep : kLargestDriftStep;
  const double rate = std::max(kDriftRate, 1.0 / static_cast<double>(steps + 2));
  return drift * (1 + rate * known * (std::clamp(ratio, 1 / largest, largest) - 1));
}

}  // namespace

void DraftCosts::observe(int level, int rows, double ms) {
  if (!(ms > 0)) return;
  const CostCurve& curve = level == 0 ? root_ : levels_;
  const double before = drift_;
  if (curve.observed()) drift_ = drifted(before, ms / level_ms(level, rows), curve.known(rows), steps_++);
  ms /= before;
  if (level == 0) {
    // Until a further level has been seen, it is taken to cost what the first one does.
    const bool follow = !root_.observed() && !levels_.observed();
    root_.observe(rows, ms);
    if (follow) levels_.scale(root_.at(1) / levels_.at(1));
  } else {
    levels_.observe(rows, ms);
  }
}

void DraftCosts::settle() {
  root_.scale(drift_);
  levels_.scale(drift_);
  drift_ = 1;
}

void CostModel::settle() {
  verify_.scale(drift_);
  drift_ = 1;
  for (auto& [name, drafter] : drafters_) drafter.settle();
}

DraftCosts& CostModel::drafter(std::string_view name) {
  const auto found = drafters_.find(name);
  return found != drafters_.end() ? found->second : drafters_[std::string(name)];
}

void CostModel::observe_step(double rows, double context, double ms, double other_ms) {
  if (!(ms > 0) || rows < 1) return;
  other_.observe(1, std::max(other_ms, 1e-6));
  const double grown = 1 + growth(rows) * (context - reference_context_);
  if (!verify_.observed()) {
    verify_.observe(rows, ms / std::max(grown, 1e-3));
    return;
  }
  const double ratio = ms / verify_ms(rows, context);
  const double before = drift_;
  drift_ = drifted(before, ratio, verify_.known(rows), steps_++);
  verify_.observe(rows, ms / (before * std::max(grown, 1e-3)));
}

void CostModel::set_growth(double reference_context, double one_row, double many_rows) {
  reference_context_ = reference_context;
  // Even if all of the time were the context's, there would be some left without it: a disturbed measurement
  // must not make the beginning of a text cost less than nothing.
  const double most = kMostOfContext / std::max(reference_context, 1.0);
  growth_one_ = std::clamp(one_row, 0.0, most);
  growth_many_ = std::clamp(many_rows, 0.0, most);
}

}  // namespace augur
