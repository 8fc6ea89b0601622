#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "augur/message.h"

namespace augur {

/// "input" of OpenAI's Responses API: a text, or messages, calls of functions and what they gave. Calls are
/// part of the assistant's message before them. BadRequest for anything else, naming its place.
std::vector<Message> read_responses_input(const nlohmann::ordered_json& value);

}  // namespace augur
