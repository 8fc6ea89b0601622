#include "cost/live_costs.h"

#include <algorithm>
#include <utility>

#include "base/calm_times.h"
#include "base/error.h"

namespace augur {
namespace {

/// What measuring a target may take at a first start, on a model whose step takes some ten ms.
constexpr double kBudgetMs = 2400;
/// What a drafter may take, and what is measured again.
constexpr double kSmallBudgetMs = kBudgetMs / 4;
/// A process that goes on measures again what is in doubt after so long, and then twice as long each time.
constexpr double kFirstPauseMs = 10e3;

bool in_doubt(const CostCurve& curve) {
  return curve.fastest().doubt() > CalmTimes::kDisturbed;
}
bool in_doubt(const DraftCosts& costs, const CostModel& target) {
  return costs.root().at(1) > kNegligible * target.verify_curve().at(1) &&
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
  const bool kept = !anew && (known || cache_.load_target(costs_));
  if (kept && !in_doubt(costs_.verify_curve())) return false;
  if (!kept) cache_.drop();  // drafters were measured in the same circumstances
  CostModel fresh(ExpertDemand::of(target_.config()));
  measure_target(target_, overhead_ms_, fresh, kept && known ? kSmallBudgetMs : kBudgetMs);
  kept ? costs_.improve(fresh) : costs_.replace_target(fresh);
  cache_.log().info("measured the model: {:.3f} ms for a token after a prompt, {:.3f} ms for 8 at once",
                    costs_.verify_curve().at(1), costs_.verify_curve().at(8));
  return true;
}

bool LiveCosts::prepare_drafter(const ProbedDrafter& drafter, bool anew, bool again) {
  DraftCosts& costs = costs_.drafter(drafter.name);
  const bool known = std::exchange(known_[drafter.name], drafter.key) == drafter.key;
  if (known && !anew && !again) return false;
  const bool kept = !anew && (known || cache_.load_drafter(drafter.key, costs));
  if (kept && !in_doubt(costs, costs_)) return false;
  DraftCosts fresh;
  measure_drafter(target_.context(), drafter.draft, fresh, kSmallBudgetMs);
  if (!kept) costs = DraftCosts();
  costs.improve(fresh);
  cache_.log().info("measured drafter {}: {:.3f} ms for its first tokens", drafter.name, costs.root().at(1));
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
    // What the host program's own code takes ("@NAME"), is another time by its next version.
    if (costs.measured() && !key.starts_with('@')) cache_.store_drafter(key, costs);
  }
}

}  // namespace augur
