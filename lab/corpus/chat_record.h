#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/chat_template.h"

namespace augur {

/// The conversation of a record's "messages". Error beginning with `where` for anything else.
std::vector<Message> chat_messages(const nlohmann::json& list, const std::string& where);

}  // namespace augur
