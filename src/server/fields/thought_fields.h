#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "augur/options.h"
#include "server/fields/field_table.h"
#include "server/fields/request_defaults.h"

namespace augur {

/// What a request says of the model's thoughts.
struct ThoughtWishes {
  bool as_content = false;           ///< they stay in the content
  std::optional<bool> enabled = {};  ///< for the template: `enable_thinking`
  std::string effort = {};           ///< the same: `reasoning_effort`; empty: it is not said
  std::int64_t most_tokens = -1;     ///< < 0: any number
};

/// How much is to be thought, in the words of all APIs.
inline constexpr std::string_view kEfforts =
    R"(["none", "minimal", "low", "medium", "high", "xhigh", "max"])";

/// OpenAI's reasoning_effort, llama.cpp's reasoning_format, reasoning_budget_tokens and
/// thinking_budget_tokens, vLLM's thinking_token_budget.
const FieldTable<ThoughtWishes>& thought_fields();

/// The server's.
ThoughtWishes default_wishes(const RequestDefaults& defaults);

/// "none": nothing is thought.
void wish_effort(std::string effort, ThoughtWishes& to);

/// Lays the wishes under the variables that the request has for its template.
void lay_variables(const ThoughtWishes& wishes, Request& request);

}  // namespace augur
