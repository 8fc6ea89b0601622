#pragma once
#include <string>
#include <string_view>

namespace augur {

/// OpenAI's error object: {"error": {"message", "type", "code", "param"}}. `field`: of the request; empty:
/// null.
std::string error_body(int status, std::string_view message, std::string_view field = {});

}  // namespace augur
