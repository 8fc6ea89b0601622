#include "augur/plan.h"
#include "engine/plan_names.h"
#include "plan/text.h"
#include "policy/registry.h"

namespace augur {

SpeculationPlan SpeculationPlan::parse(std::string_view text, const SpeculationPlan& base) {
  SpeculationPlan plan = base;
  apply(split_plan(text), plan);
  use_canonical_names(plan);
  if (!plan.plain()) check_limits(plan);
  return plan;
}

}  // namespace augur
