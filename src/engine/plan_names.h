#pragma once
#include <string_view>

#include "augur/plan.h"

namespace augur {

/// Whether it names a further draft model: "@NAME".
inline bool names_draft_model(std::string_view drafter) {
  return drafter.size() > 1 && drafter.front() == '@';
}

/// Gives drafters their canonical names: aliases resolved, "plain" is "none". Error for a drafter or a policy
/// that is unknown, a drafter given twice, or "none" beside others. "auto" stays.
void use_canonical_names(SpeculationPlan& plan);

}  // namespace augur
