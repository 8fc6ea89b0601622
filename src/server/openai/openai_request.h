#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/options.h"
#include "server/fields/answer_fields.h"
#include "server/fields/request_fields.h"
#include "server/fields/thought_fields.h"
#include "server/tools/offered_tools.h"

namespace augur {

enum class OpenAiEndpoint { ChatCompletions, Completions };

struct OpenAiRequest {
  std::vector<Request> requests;  ///< alike but for their prompts, of which completions take several
  OfferedTools tools;             ///< of chats
  ThoughtWishes thoughts;         ///< the same
  int choices = 1;                ///< `n`, of each: choice i is sampled with the seed plus i
  bool echo = false;
  bool stream = false;
  bool stream_usage = false;
  bool stream_speculation = false;  ///< `return_speculation`: who proposed each token, and every round's tree
  int priority = 0;
  double seconds = 0;  ///< "timeout": in which it has to end; 0: as long as it takes
  AnswerWishes wishes;
  std::string model;  ///< as the client names it; empty: it does not
};

/// The body of /v1/chat/completions or /v1/completions. Without a seed one is drawn. A plan under
/// "speculative" ({"type", "policy", "n_max", "topk", ...}, the keys of the plan's text form with _ or -) is
/// laid over `plan`; keys that name files are refused.
OpenAiRequest parse_openai_request(OpenAiEndpoint endpoint, const nlohmann::ordered_json& body,
                                   const SpeculationPlan& plan, FieldNotes& notes);

/// Of a request's body, for OpenAPI.
nlohmann::ordered_json openai_schema(OpenAiEndpoint endpoint);

}  // namespace augur
