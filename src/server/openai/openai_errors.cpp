#include "server/openai/openai_errors.h"

#include <nlohmann/json.hpp>
#include <string>

#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 404) return "not_found_error";
  if (status == 429) return "rate_limit_error";
  if (status == 501) return "not_supported_error";
  if (status == 503) return "unavailable_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

std::string error_body(const Problem& problem) {
  ordered_json error = {{"message", problem.what()},
                        {"type", type_of(problem.status())},
                        {"param", problem.field().empty() ? ordered_json() : ordered_json(problem.field())},
                        {"code", problem.status()}};
  if (const auto& excess = problem.excess()) {  // as llama.cpp tells it
    error["type"] = "exceed_context_size_error";
    error["n_prompt_tokens"] = excess->prompt_tokens;
    error["n_ctx"] = excess->context;
  }
  return text_of({{"error", std::move(error)}});
}

}  // namespace

const ErrorForm kOpenAiErrors = {.body = error_body, .event = ""};

}  // namespace augur
