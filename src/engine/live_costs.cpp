#include "engine/live_costs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/cost_probe.h"

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

/// Of the target: with the experts that its rows are expected to wake.
MeasuredCosts::Curve verify_curve_of(const CostModel& costs) {
  MeasuredCosts::Curve to;
  for (const double rows : CostCurve::kRows) {
    to.rows.push_back(static_cast<int>(rows));
    to.ms.push_back(costs.verify_ms(rows, costs.reference_context()));
  }
  return to;
}

MeasuredCosts::Experts experts_of(const CostModel& costs) {
  const ExpertDemand& demand = costs.experts();
  MeasuredCosts::Experts to;
  if (demand.dense()) return to;
  to = {
      .count = demand.count(), .active = demand.active(), .layers = demand.layers(), .ms = costs.expert_ms()};
  for (const double rows : CostCurve::kRows) {
    to.rows.push_back(static_cast<int>(rows));
    to.expected.push_back(demand.at(rows) / demand.layers());
    to.even.push_back(demand.even(rows) / demand.layers());
  }
  return to;
}

MeasuredCosts::Curve curve_of(const CostCurve& from) {
  MeasuredCosts::Curve to;
  for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i) {
    to.rows.push_back(static_cast<int>(CostCurve::kRows[i]));
    to.ms.push_back(from.value(i));
  }
  return to;
}

}  // namespace

LiveCosts::LiveCosts(Model& target, Decoder& decoder, const Drafters& drafters, CostCache cache)
    : target_(target),
      decoder_(decoder),
      drafters_(drafters),
      cache_(std::move(cache)),
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
  CostModel& costs = decoder_.costs();
  const bool known = std::exchange(target_known_, true);
  if (known && !anew && !again) return false;
  if (anew || !(known || cache_.load_target(costs))) {
    // Drafters were measured in the same circumstances.
    cache_.drop();
    measure_target(target_, costs, kTargetBudgetMs);
    return true;
  }
  if (!in_doubt(costs.verify_curve())) return false;
  CostModel fresh(ExpertDemand::of(target_.config()));
  measure_target(target_, fresh, known ? kAgainShare * kTargetBudgetMs : kTargetBudgetMs);
  costs.improve(fresh);
  return true;
}

bool LiveCosts::prepare_drafter(const std::string& name, const SpeculationPlan& plan, bool anew, bool again) {
  DraftCosts& costs = decoder_.costs().drafter(name);
  const std::string key = drafters_.cost_key(name, plan);
  const bool known = std::exchange(known_[name], key) == key;
  if (known && !anew && !again) return false;
  const bool kept = !anew && (known || cache_.load_drafter(key, costs));
  if (kept && !in_doubt(costs, decoder_.costs())) return false;
  const auto make = [&](std::int64_t context) {
    return drafters_.make(name, plan, {.tokens = std::min(context, target_.context()), .owner = {}});
  };
  DraftCosts fresh;
  measure_drafter(target_, make, fresh, known && !anew ? kAgainShare * kDrafterBudgetMs : kDrafterBudgetMs);
  if (kept) {
    costs.improve(fresh);
  } else {
    costs = fresh;
  }
  return true;
}

void LiveCosts::prepare(const SpeculationPlan& plan, bool anew, bool idle) {
  const bool again = idle && target_known_ && may_repeat();
  bool measured = prepare_target(anew, again);
  for (const std::string& name : drafters_of(plan)) {
    measured = prepare_drafter(name, plan, anew, again) || measured;
  }
  if (!measured) return;
  since_measured_.restart();
  store();
  cache_.save();
}

MeasuredCosts LiveCosts::report() const {
  const CostModel& costs = decoder_.costs();
  MeasuredCosts report{.context = costs.reference_context(),
                       .verify = target_known_ ? verify_curve_of(costs) : MeasuredCosts::Curve{},
                       .experts = experts_of(costs),
                       .growth_one = costs.growth_one(),
                       .growth_many = costs.growth_many(),
                       .other_ms = costs.other_ms(),
                       .drafters = {},
                       .file = cache_.file().string()};
  for (const auto& [name, key] : known_) {
    const DraftCosts& draft = decoder_.costs().drafter(name);
    report.drafters.push_back(
        {name, curve_of(draft.root()),
         draft.levels().observed() ? curve_of(draft.levels()) : MeasuredCosts::Curve{}});
  }
  return report;
}

void LiveCosts::store() {
  cache_.store_target(decoder_.costs());
  for (const auto& [name, key] : known_) {
    const DraftCosts& costs = decoder_.costs().drafter(name);
    if (costs.measured()) cache_.store_drafter(key, costs);
  }
}

}  // namespace augur
