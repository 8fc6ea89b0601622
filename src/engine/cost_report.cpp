#include "engine/cost_report.h"

namespace augur {
namespace {

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

MeasuredCosts report_costs(const LiveCosts& live) {
  const CostModel& costs = live.costs();
  MeasuredCosts report{.context = costs.reference_context(),
                       .verify = live.target_known() ? verify_curve_of(costs) : MeasuredCosts::Curve{},
                       .experts = experts_of(costs),
                       .growth_one = costs.growth_one(),
                       .growth_many = costs.growth_many(),
                       .other_ms = costs.other_ms(),
                       .drafters = {},
                       .file = live.file().string()};
  for (const auto& [name, key] : live.drafters_known()) {
    const DraftCosts& draft = costs.drafters().find(name)->second;
    report.drafters.push_back(
        {name, curve_of(draft.root()),
         draft.levels().observed() ? curve_of(draft.levels()) : MeasuredCosts::Curve{}});
  }
  return report;
}

}  // namespace augur
