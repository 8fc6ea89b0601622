#pragma once
#include <span>
#include <string>
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

/// The plan as an engine carries it out: checked, with canonical names, "auto" replaced by `head` (the type
/// of the engine's draft model; empty: it has none), drafters and policy named where they were not. What is
/// kept by plans goes by this. `named`: its further draft models, "@NAME" each. Error for a drafter that
/// needs another draft model.
SpeculationPlan resolve(SpeculationPlan plan, std::string_view head, std::span<const std::string> named = {});

}  // namespace augur
