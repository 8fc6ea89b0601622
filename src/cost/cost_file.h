#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cost/cost.h"

namespace augur {

/// Costs as JSON, so that they outlive a process. What is read may be anything: every value is checked.
nlohmann::json target_costs_to_json(const CostModel& costs);
nlohmann::json draft_costs_to_json(const DraftCosts& costs);

/// Replaces what `into` knows of the target; its drafters stay. Whether the target has experts `into` says.
/// Error naming `file` and the field.
void read_target_costs(const nlohmann::json& object, const std::string& file, CostModel& into);
void read_draft_costs(const nlohmann::json& object, const std::string& file, DraftCosts& into);

}  // namespace augur
