#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "augur/message.h"
#include "server/tools/tool_parser.h"

namespace augur {

/// How a model is told to write calls whose template knows no tools, or writes them in no form that is known:
/// as that of DeepSeek V3.1 has those of earlier turns, or else as Hermes.
ToolFormat described_format(std::string_view chat_template);

/// Writes tools (a list in OpenAI's form) into a conversation whose template has no place for them: what
/// there is and how to call it into the system message, or before the first message where there is none; for
/// Hermes' format also calls into the assistant's messages and results into the user's. Messages of one role
/// that come to stand behind one another become one, as many templates want turns to alternate.
void describe_tools(const nlohmann::ordered_json& tools, ToolFormat format, std::vector<Message>& messages);

}  // namespace augur
