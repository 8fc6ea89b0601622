#pragma once
#include <string>
#include <string_view>

#include "augur/options.h"
#include "server/fields/request_rules.h"
#include "server/tools/offered_tools.h"

namespace augur {

struct AnthropicRequest {
  Request request;
  OfferedTools tools;
  bool stream = false;
  std::string model;  ///< as the client names it; empty: it does not
};

enum class AnthropicEndpoint { Messages, CountTokens };

/// The body of /v1/messages or /v1/messages/count_tokens. As parse_openai_request(): nothing is ignored but
/// `metadata` and what says how Anthropic is to cache and bill; sampling fields beyond Anthropic's own are
/// OpenAI's and vLLM's.
AnthropicRequest parse_anthropic_request(AnthropicEndpoint endpoint, std::string_view body,
                                         const RequestRules& rules);

}  // namespace augur
