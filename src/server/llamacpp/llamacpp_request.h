#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/engine.h"
#include "server/fields/bad_request.h"
#include "server/fields/request_rules.h"

namespace augur {

/// A request in the form of llama.cpp's server, with its defaults.
struct LlamaCppRequest {
  /// Its prompt as token ids.
  Request request{.sampling = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05}};
  std::string prompt;  ///< the same as text
  bool stream = false;
  bool return_tokens = false;
};

/// The body of /completion. What this server does not do is a BadRequest unless it is switched off in so many
/// words; what only shapes something that is switched off may be given. `prompt`: a text, token ids, or a
/// mixed list of both.
LlamaCppRequest parse_completion(const Engine& engine, std::string_view body, const RequestRules& rules);

/// The body of /infill: the same with `input_prefix`, `input_suffix`, `input_extra` and `prompt`, which comes
/// behind the prefix. A Problem (501) where the model has no tokens for it.
LlamaCppRequest parse_infill(const Engine& engine, std::string_view body, const RequestRules& rules);

/// A text, token ids, or a list of both: as token ids, with a beginning of sequence where a text begins it.
std::vector<TokenId> read_mixed_tokens(const Engine& engine, const std::string& field,
                                       const nlohmann::json& value);

}  // namespace augur
