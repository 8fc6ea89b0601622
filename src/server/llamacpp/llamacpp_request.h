#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/engine.h"
#include "server/fields/answer_fields.h"
#include "server/fields/bad_request.h"
#include "server/fields/request_fields.h"

namespace augur {

/// A request in the form of llama.cpp's server, with its defaults.
struct LlamaCppRequest {
  /// Alike but for their prompts, which are token ids.
  std::vector<Request> requests;
  std::vector<std::string> prompts;  ///< the same as text
  int choices = 1;                   ///< of each request
  bool stream = false;
  bool return_tokens = false;
  AnswerWishes wishes;
  std::vector<std::string> response_fields;  ///< paths ("a/b") of what is answered; empty: everything
};

/// The settings of a request that says nothing, with the server's.
Request llamacpp_defaults(const RequestDefaults& defaults);

/// The body of /completion. What this server does not do is a BadRequest unless it is switched off in so many
/// words; what only shapes something that is switched off may be given. `prompt`: a text, token ids, a mixed
/// list of both, or a list of these.
LlamaCppRequest parse_completion(const Engine& engine, std::string_view body, const SpeculationPlan& plan,
                                 FieldNotes& notes);

/// The body of /infill: the same with `input_prefix`, `input_suffix`, `input_extra` and `prompt`, which comes
/// behind the prefix. A Problem (501) where the model has no tokens for it.
LlamaCppRequest parse_infill(const Engine& engine, std::string_view body, const SpeculationPlan& plan,
                             FieldNotes& notes);

// For OpenAPI.
nlohmann::ordered_json completion_schema();
nlohmann::ordered_json infill_schema();

}  // namespace augur
