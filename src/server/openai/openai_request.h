#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/options.h"
#include "server/fields/bad_request.h"
#include "server/fields/request_rules.h"

namespace augur {

enum class OpenAiEndpoint { ChatCompletions, Completions };

struct OpenAiRequest {
  std::vector<Request> requests;  ///< alike but for their prompts, of which completions take several
  int choices = 1;                ///< `n`, of each: choice i is sampled with the seed plus i
  bool echo = false;
  bool stream = false;
  bool stream_usage = false;
  bool stream_speculation = false;  ///< `return_speculation`: who proposed each token, and every round's tree
  int priority = 0;
  double seconds = 0;  ///< "timeout": in which it has to end; 0: as long as it takes
  std::string model;   ///< as the client names it; empty: it does not
};

/// The body of /v1/chat/completions, but for its tools (openai_tools.h), or of /v1/completions. Every field
/// that is not supported is a BadRequest that names it: nothing is ignored but `user` and `metadata`, which
/// say who asks. Without a seed one is drawn. A plan under "speculative" ({"type", "policy", "n_max", "topk",
/// ...}, the keys of the plan's text form with _ or -) is laid over the server's; keys that name files are
/// refused. `text` is what `body` was parsed from: a JSON schema's properties keep the order they have there.
OpenAiRequest parse_openai_request(OpenAiEndpoint endpoint, const nlohmann::json& body, std::string_view text,
                                   const RequestRules& rules);

}  // namespace augur
