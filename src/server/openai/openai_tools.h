#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "server/tools/offered_tools.h"

namespace augur {

/// "tools", "tool_choice" and "parallel_tool_calls" of a chat completion whose body is `text`. With the
/// choice "none" no tools are offered.
OfferedTools read_openai_tools(std::string_view text);

}  // namespace augur
