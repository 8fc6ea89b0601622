#include "cost/live_costs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

// Together they are what a first start may take on a model whose step takes some ten ms.
constexpr double kTargetBudgetMs = 2400;
constexpr double kDrafterBudgetMs = 500;
/// A process that goes on measures again what is in doubt after so long, and then twice as long each time: a
/// quarter of the budget, so that it takes less than a tenth of the time, and hardly any in the end.
constexpr double kFirstPauseMs = 10e3;
constexpr double kAgainShare = 0.25;
/// Of a plain forward: what takes less decides nothing, and a clock's ticks are large beside it.
constexpr double kMatters = 0.01;

bool in_doubt(const CostCurve& curve) {
  return curve.fastest().doubt() > FastTimes::kDisturbed;
}
bool in_doubt(const DraftCosts& costs, const CostModel& target) {
  return costs.root().at(1) > kMatters * target.verify_curve().at(1) &&
         (in_doubt(costs.root()) || (costs.levels().observed() && in_doubt(costs.levels())));
}

}  // namespace

LiveCosts::LiveCosts(Model& target, CostModel& costs, CostCache cache, OverheadProbe overhead_ms)
    : target_(target),
      costs_(costs),
      cache_(std::move(cache)),
      overhead_ms_(std::move(overhead_ms)),
      pause_ms_(kFirstPauseMs) {}

LiveCosts::~LiveCosts() {
  if (!target_known_) return;
  try {
    store();
  } catch (const std::exception&) {  // no memory: what was there before stays
    return;
  }
  cache_.save();
}

/// Whether it is time to measure again what is in doubt.
bool LiveCosts::may_repeat() {
  if (since_measured_.ms() < pause_ms_) return false;
  pause_ms_ *= 2;
  return true;
}

/// Returns whether something was measured. `again`: what is known, if it is in doubt.
bool LiveCosts::prepare_target(bool anew, bool again) {
  const bool known = std::exchange(target_known_, true);
  if (known && !anew && !again) return false;
  if (anew || !(known || cache_.load_target(costs_))) {
    // Drafters were measured in the same circumstances.
    cache_.drop();
    measure_target(target_, overhead_ms_, costs_, kTargetBudgetMs);
    return true;
  }
  if (!in_doubt(costs_.verify_curve())) return false;
  CostModel fresh(ExpertDemand::of(target_.config()));
  measure_target(target_, overhead_ms_, fresh, known ? kAgainShare * kTargetBudgetMs : kTargetBudgetMs);
  costs_.improve(fresh);
  return true;
}

bool LiveCosts::prepare_drafter(const ProbedDrafter& drafter, bool anew, bool again) {
  DraftCosts& costs = costs_.drafter(drafter.name);
  const bool known = std::exchange(known_[drafter.name], drafter.key) == drafter.key;
  if (known && !anew && !again) return false;
  const bool kept = !anew && (known || cache_.load_drafter(drafter.key, costs));
  if (kept && !in_doubt(costs, costs_)) return false;
  DraftCosts fresh;
  measure_drafter(target_.context(), drafter.draft, fresh,
                  known && !anew ? kAgainShare * kDrafterBudgetMs : kDrafterBudgetMs);
  if (kept) {
    costs.improve(fresh);
  } else {
    costs = fresh;
  }
  return true;
}

void LiveCosts::prepare(std::span<const ProbedDrafter> drafters, bool anew, bool idle) {
  const bool again = idle && target_known_ && may_repeat();
  bool measured = prepare_target(anew, again);
  for (const ProbedDrafter& drafter : drafters) measured = prepare_drafter(drafter, anew, again) || measured;
  if (!measured) return;
  since_measured_.restart();
  store();
  cache_.save();
}

void LiveCosts::store() {
  cache_.store_target(costs_);
  for (const auto& [name, key] : known_) {
    const DraftCosts& costs = costs_.drafter(name);
    if (costs.measured()) cache_.store_drafter(key, costs);
  }
}

}  // namespace augur
