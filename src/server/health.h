#pragma once
#include <span>
#include <string_view>

#include "server/endpoint.h"

namespace augur {

/// Whether the server lives, and whether it is ready for requests: two questions, since one that loads or
/// drains is to be left alone, and not to be started anew.
std::span<const Endpoint> health_endpoints();

/// Those of them that anybody may ask, which say nothing that matters to strangers.
bool is_open_health(std::string_view path);

}  // namespace augur
