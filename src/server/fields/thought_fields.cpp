#include "server/fields/thought_fields.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "files/big_integers.h"
#include "server/fields/request_fields.h"

namespace augur {
namespace {

Field<ThoughtWishes> budget(std::string_view name) {
  return {{name, FieldType::integer(-1, kMostTokens), "tokens of thoughts at most; -1: any number"},
          [](const FieldValue& v, ThoughtWishes& to) { to.most_tokens = v.integer(); }};
}

}  // namespace

const FieldTable<ThoughtWishes>& thought_fields() {
  static const FieldTable<ThoughtWishes> table = {
      {{"reasoning_effort", FieldType::one_of(kEfforts), "for the chat template; none: nothing is thought"},
       [](const FieldValue& v, ThoughtWishes& to) { wish_effort(v.text(), to); }},
      {{"reasoning_format", FieldType::one_of(R"(["auto", "deepseek", "none"])"),
        "none: thoughts stay in the content"},
       [](const FieldValue& v, ThoughtWishes& to) { to.as_content = v.json == "none"; }},
      budget("reasoning_budget_tokens"),
      budget("thinking_budget_tokens"),
      budget("thinking_token_budget")};
  return table;
}

ThoughtWishes default_wishes(const RequestDefaults& defaults) {
  return {.as_content = defaults.thoughts_as_content, .most_tokens = defaults.most_thought_tokens};
}

void wish_effort(std::string effort, ThoughtWishes& to) {
  if (effort == "none") to.enabled = false;
  to.effort = std::move(effort);
}

void lay_variables(const ThoughtWishes& wishes, Request& request) {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  if (wishes.enabled) variables["enable_thinking"] = *wishes.enabled;
  if (!wishes.effort.empty()) variables["reasoning_effort"] = wishes.effort;
  if (variables.empty()) return;
  if (!request.template_kwargs.empty()) variables.update(parse_exact_json(request.template_kwargs));
  request.template_kwargs = write_exact_json(variables);
}

}  // namespace augur
