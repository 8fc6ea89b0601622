#pragma once
#include <nlohmann/json_fwd.hpp>

#include "server/fields/field_table.h"
#include "server/tools/offered_tools.h"

namespace augur {

/// "tools", "tool_choice" and "parallel_tool_calls" of a chat completion, as they come.
struct ToolFields {
  OfferedTools offered;
  nlohmann::ordered_json choice;  ///< null: not given; it is read when all tools are there
};

const FieldTable<ToolFields>& tool_fields();

/// The tools among which was chosen: with the choice "none" there are none.
OfferedTools offered_by(const ToolFields& fields);

}  // namespace augur
