#pragma once
#include <string_view>

#include "augur/plan.h"

namespace augur {

/// Gives drafters their canonical names: aliases resolved, "plain" is "none". Error for a drafter or a policy
/// that is unknown, a drafter given twice, or "none" beside others. "auto" stays.
void use_canonical_names(SpeculationPlan& plan);

/// The plan as an engine carries it out: checked, with canonical names, "auto" replaced by `head` (the type
/// of the engine's draft model; empty: it has none), drafters and policy named where they were not. What is
/// kept by plans goes by this. Error for a drafter that needs another draft model.
SpeculationPlan resolve(SpeculationPlan plan, std::string_view head);

}  // namespace augur
