#pragma once
#include "server/exchange.h"

namespace augur {

/// Anthropic's error object: {"type": "error", "error": {"type", "message"}}, in a stream an event "error".
extern const ErrorForm kAnthropicErrors;

}  // namespace augur
