#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "augur/message.h"
#include "server/tools/tool_parser.h"

namespace augur {

/// An answer, taken apart.
struct ParsedAnswer {
  std::string content;
  std::vector<ToolCall> calls;  ///< the last one's arguments may break off
};

/// Without a parser all of it is content.
ParsedAnswer parse_answer(std::optional<ToolParser> parser, std::string_view text);

/// By which a call is known: nine letters and digits, which is what Mistral's templates demand.
std::string new_call_id();

}  // namespace augur
