#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "augur/message.h"
#include "server/tools/tool_parser.h"

namespace augur {

/// How a model is told to write calls whose template knows no tools, or writes them in no form that is known.
constexpr ToolFormat kDescribedFormat = ToolFormat::Hermes;

/// Writes tools (a list in OpenAI's form) into a conversation whose template has no place for them: what
/// there is and how to call it into the system message, or before the first message where there is none;
/// calls into the assistant's messages; results into the user's. Messages of one role that come to stand
/// behind one another become one, as many templates want turns to alternate.
void describe_tools(const nlohmann::ordered_json& tools, std::vector<Message>& messages);

}  // namespace augur
