#pragma once
#include "server/exchange.h"

namespace augur {

/// OpenAI's error object: {"error": {"message", "type", "param", "code"}}.
extern const ErrorForm kOpenAiErrors;

}  // namespace augur
