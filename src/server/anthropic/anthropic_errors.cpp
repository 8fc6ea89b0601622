#include "server/anthropic/anthropic_errors.h"

#include <nlohmann/json.hpp>
#include <string>

#include "server/answers/json_answers.h"

namespace augur {
namespace {

const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 404) return "not_found_error";
  if (status == 413) return "request_too_large";
  if (status == 429) return "rate_limit_error";
  if (status == 503) return "overloaded_error";
  if (status == 504) return "timeout_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}

std::string error_body(const Problem& problem) {
  return text_of(
      {{"type", "error"}, {"error", {{"type", type_of(problem.status())}, {"message", problem.what()}}}});
}

}  // namespace

const ErrorForm kAnthropicErrors = {.body = error_body, .event = "error"};

}  // namespace augur
