#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

struct DrafterBelief;

/// What a drafter's candidates were worth, as JSON, for processes to come: the calibration of its
/// probabilities and its ranks' acceptance. Not kept is what it gained, which is a matter of this text and of
/// the machine's present speed: that is found out by the usual trial, which now knows what to draft.
nlohmann::json belief_to_json(const DrafterBelief& belief);

/// Begins with it, believed less than what this process sees itself. What is read may be anything: every
/// value is checked. Error naming `file` and the field.
void read_belief(const nlohmann::json& object, const std::string& file, DrafterBelief& into);

}  // namespace augur
