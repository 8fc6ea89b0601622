#include "api/live_costs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/cost_probe.h"

namespace augur {
namespace {

// Together they are what a first start may take on a model whose step takes some ten ms.
constexpr double kTargetBudgetMs = 2400;
constexpr double kDrafterBudgetMs = 500;

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
    : target_(target), decoder_(decoder), drafters_(drafters), cache_(std::move(cache)) {}

LiveCosts::~LiveCosts() {
  if (!target_known_) return;
  store();
  cache_.save();
}

void LiveCosts::prepare(const SpeculationPlan& plan, bool anew) {
  bool measured = false;
  CostModel& costs = decoder_.costs();
  if (!target_known_ || anew) {
    if (anew || !cache_.load_target(costs)) {
      // Drafters were measured in the same circumstances.
      cache_.drop();
      measure_target(target_, costs, kTargetBudgetMs);
      measured = true;
    }
    target_known_ = true;
  }
  for (const std::string& name : drafters_of(plan)) {
    const std::string key = drafters_.cost_key(name, plan);
    if (known_[name] == key && !anew) continue;
    if (anew || !cache_.load_drafter(key, costs.drafter(name))) {
      const auto make = [&](std::int64_t context) {
        return drafters_.make(name, plan, std::min(context, target_.context()));
      };
      DraftCosts fresh;
      measure_drafter(target_, make, fresh, kDrafterBudgetMs);
      costs.drafter(name) = fresh;
      measured = true;
    }
    known_[name] = key;
  }
  if (!measured) return;
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
