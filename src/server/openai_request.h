#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "augur/options.h"

namespace augur {

/// A request that is not as it must be, or that asks for what there is not.
class BadRequest : public std::runtime_error {
 public:
  BadRequest(std::string field, const std::string& problem)
      : std::runtime_error(field.empty() ? problem : "'" + field + "': " + problem),
        field_(std::move(field)) {}
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

/// A request's body. BadRequest for what is not a JSON object.
nlohmann::json parse_body(std::string_view body);

[[noreturn]] void unsupported(const std::string& field);

enum class OpenAiEndpoint { ChatCompletions, Completions };

struct OpenAiRequest {
  Request request;
  int choices = 1;  ///< `n`: choice i is sampled with the seed plus i
  bool stream = false;
  bool stream_usage = false;
  int priority = 0;
  std::string model;  ///< as the client names it; empty: it does not
};

/// The body of /v1/chat/completions or /v1/completions. Every field that is not supported is a BadRequest
/// that names it: nothing is ignored but `user` and `metadata`, which say who asks. Without a seed one is
/// drawn. A plan under "speculative" ({"type", "policy", "n_max", "topk", ...}, the keys of the plan's text
/// form with _ or -) is laid over `plan`; keys that name files are refused.
OpenAiRequest parse_openai_request(OpenAiEndpoint endpoint, const nlohmann::json& body,
                                   const SpeculationPlan& plan);

}  // namespace augur
