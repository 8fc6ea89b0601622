#include "lab/suite/budget.h"

#include <algorithm>

#include "base/error.h"
#include "plan/keys.h"
#include "policy/registry.h"

namespace augur {

void use_budget(Method& method, int nodes) {
  if (method.plain() || method.peer()) return;
  SpeculationPlan& plan = method.speculation;
  plan.policy = policy_of(plan);
  const PolicyChoice& policy = plan.policy;
  const auto check = [&](const PlanKey& size, bool says) {
    if (!says) return;
    throw Error("{}: {}: the budget of {} nodes says how much is verified: expected a method that does not",
                method.text, size.key, nodes);
  };
  const auto take = [&](std::optional<int> SpeculationPlan::*limit, int value) {
    const PlanKey& key = key_of(limit);
    check(key, is_given(plan, key) || policy.settings.count(std::string(key.key)) > 0);
    if (reads(policy, key)) plan.*limit = std::min(value, static_cast<int>(key.most));
  };
  const PlanKey& tree = key_of(&SpeculationPlan::static_tree);
  check(tree, reads(policy, tree));  // which has the nodes that it has
  take(&SpeculationPlan::draft_max, nodes);
  take(&SpeculationPlan::tree_size, nodes + 1);  // it counts the newest token
}

}  // namespace augur
