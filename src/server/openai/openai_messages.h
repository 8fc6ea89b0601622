#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "augur/message.h"

namespace augur {

/// "messages" of a chat completion: text, calls of functions, and what they gave. BadRequest for anything
/// else, naming its place.
std::vector<Message> read_openai_messages(const nlohmann::json& value);

}  // namespace augur
