#pragma once
#include <nlohmann/json_fwd.hpp>

#include "server/tools/call_tags.h"
#include "server/tools/offered_tools.h"

namespace augur {

/// The arguments of a call in tags, each in lines of its own, in the order of the schema: a format of a
/// structural tag. `enforced`: they fit the schema, otherwise they are any. BadRequest naming the
/// schema's field where a text without quotes cannot be held to it.
nlohmann::ordered_json xml_arguments(const Tool& tool, const CallTags& tags, bool enforced);

/// A line break between parts of a call, or where models leave it out perhaps none.
nlohmann::ordered_json line_break(const CallTags& tags);

}  // namespace augur
