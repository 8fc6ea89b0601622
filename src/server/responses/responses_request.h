#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/options.h"
#include "server/fields/answer_fields.h"
#include "server/fields/request_fields.h"
#include "server/fields/thought_fields.h"
#include "server/tools/offered_tools.h"

namespace augur {

struct ResponsesRequest {
  Request request;
  OfferedTools tools;
  ThoughtWishes thoughts;
  bool stream = false;
  AnswerWishes wishes;          ///< timings and progress
  std::string model;            ///< as the client names it; empty: it does not
  nlohmann::ordered_json echo;  ///< what the answer repeats of the request
};

/// The body of /v1/responses. As parse_openai_request(). Nothing is stored, so that a request cannot go on
/// from an earlier answer.
ResponsesRequest parse_responses_request(std::string_view body, const SpeculationPlan& plan,
                                         FieldNotes& notes);

// For OpenAPI.
nlohmann::ordered_json responses_schema();
nlohmann::ordered_json responses_tool_schema();

}  // namespace augur
