#pragma once
#include <string>
#include <utility>

#include "server/problem.h"

namespace augur {

/// A request that is not as it must be, or that asks for what there is not: a 400 that names the field.
class BadRequest : public Problem {
 public:
  BadRequest(const std::string& field, const std::string& problem)
      : Problem(400, field.empty() ? problem : "'" + field + "': " + problem, field) {}
};

/// A prompt that leaves no room in the context.
class PromptTooLong : public BadRequest {
 public:
  PromptTooLong(const std::string& field, Excess excess)
      : BadRequest(field, "its " + std::to_string(excess.prompt_tokens) +
                              " tokens are a prompt that exceeds the available context size of " +
                              std::to_string(excess.context) + ": expected at most " +
                              std::to_string(excess.context - 1)) {
    set_excess(excess);
  }
};

}  // namespace augur
