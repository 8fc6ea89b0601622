#pragma once
#include <nlohmann/json_fwd.hpp>

#include "server/tools/offered_tools.h"

namespace augur {

/// A call in ToolFormat::Python, from its name to the bracket that ends it; values are as in JSON: a format
/// of a structural tag. `enforced`: the arguments fit the schema, otherwise they are any. BadRequest naming
/// the schema's field.
nlohmann::ordered_json python_call(const Tool& tool, bool enforced);

}  // namespace augur
