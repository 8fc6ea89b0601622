#pragma once
#include <span>
#include <string>
#include <string_view>

#include "augur/plan.h"

namespace augur {

/// Whether the user gave the name, "@NAME": that of a further draft model, or of a drafter or policy of the
/// host program.
inline bool names_users(std::string_view name) {
  return name.size() > 1 && name.front() == '@';
}

/// "@NAME", for a NAME of the option `field`. Throws Error for one that is no name, or one of `taken`.
std::string users_name(std::string_view field, std::string_view name, std::span<const std::string> taken);

/// Replaces aliases of drafters' names by their canonical names; "plain" becomes "none". Throws Error for an
/// unknown drafter or policy, for a drafter given twice, and for "none" beside others. "auto" is left as it
/// is.
void use_canonical_names(SpeculationPlan& plan);

}  // namespace augur
