#pragma once
#include <string_view>

#include "augur/plan.h"

namespace augur {

/// Whether the name is that of a further draft model: "@NAME".
inline bool names_draft_model(std::string_view drafter) {
  return drafter.size() > 1 && drafter.front() == '@';
}

/// Replaces aliases of drafters' names by their canonical names; "plain" becomes "none". Throws Error for an
/// unknown drafter or policy, for a drafter given twice, and for "none" beside others. "auto" is left as it
/// is.
void use_canonical_names(SpeculationPlan& plan);

}  // namespace augur
