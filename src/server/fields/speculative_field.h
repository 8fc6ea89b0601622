#pragma once
#include <nlohmann/json_fwd.hpp>

#include "augur/plan.h"

namespace augur {

/// A request's "speculative" ({"type", "policy", "n_max", "topk", ...}, the keys of the plan's text form with
/// _ or -) laid over `base`. BadRequest for what is no plan, and for keys and values that could name a file.
SpeculationPlan read_speculative(const nlohmann::json& value, const SpeculationPlan& base);

}  // namespace augur
