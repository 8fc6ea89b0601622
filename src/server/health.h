#pragma once
#include <span>
#include <string_view>

#include "server/endpoint.h"

namespace augur {

/// Whether the server works, and whether it is ready for requests. These are two questions, because a server
/// that loads or drains must not be restarted.
std::span<const Endpoint> health_endpoints();

/// Those that need no key, because they reveal nothing.
bool is_open_health(std::string_view path);

}  // namespace augur
