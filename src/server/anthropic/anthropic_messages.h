#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "augur/message.h"

namespace augur {

/// A string, or a list of text blocks, which become its lines.
std::string read_anthropic_text(const std::string& field, const nlohmann::ordered_json& value);

/// "messages" of Anthropic's API: text, tool_use and tool_result blocks. What a tool gave is a message of its
/// own here; one that says is_error begins with "Error: ". BadRequest for anything else, naming its place.
std::vector<Message> read_anthropic_messages(const nlohmann::ordered_json& value);

}  // namespace augur
