#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "augur/message.h"
#include "server/fields/field_table.h"

namespace augur {

/// "messages" of a chat completion: text, calls of functions, and what they gave. BadRequest for anything
/// else, naming its place.
std::vector<Message> read_openai_messages(const nlohmann::ordered_json& value, FieldNotes& notes);

}  // namespace augur
