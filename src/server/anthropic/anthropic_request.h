#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/options.h"
#include "server/fields/request_fields.h"
#include "server/fields/thought_fields.h"
#include "server/tools/offered_tools.h"

namespace augur {

struct AnthropicRequest {
  Request request;
  OfferedTools tools;
  ThoughtWishes thoughts;
  bool stream = false;
  std::string model;  ///< as the client names it; empty: it does not
};

enum class AnthropicEndpoint { Messages, CountTokens };

/// The body of /v1/messages or /v1/messages/count_tokens. As parse_openai_request(); sampling fields beyond
/// Anthropic's own are OpenAI's and vLLM's.
AnthropicRequest parse_anthropic_request(AnthropicEndpoint endpoint, std::string_view body,
                                         const SpeculationPlan& plan, FieldNotes& notes);

// For OpenAPI.
nlohmann::ordered_json anthropic_schema(AnthropicEndpoint endpoint);
nlohmann::ordered_json anthropic_tool_schema();

}  // namespace augur
