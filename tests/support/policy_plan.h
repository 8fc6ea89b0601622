#pragma once
#include <string>

#include "plan/text.h"

namespace augur::testing_support {

/// A plan with that policy, NAME[:KEY=VALUE,...], and nothing else: what load_policy() takes.
inline SpeculationPlan policy_plan(const std::string& text) {
  SpeculationPlan plan;
  plan.policy = read_policy(text, "policy");
  return plan;
}

}  // namespace augur::testing_support
