#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/json_fields.h"
#include "server/openai/openai_answer.h"
#include "server/openai/openai_request.h"
#include "server/openai/openai_tools.h"

namespace augur {
namespace {

template <OpenAiEndpoint kEndpoint>
void complete(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  OpenAiRequest parsed = parse_openai_request(kEndpoint, parse_body(http.body), http.body, served.rules());
  require_model(served, parsed.model);
  std::optional<ToolParser> tools;
  if (kEndpoint == OpenAiEndpoint::ChatCompletions) {
    tools = offer_tools(served.engine, read_openai_tools(http.body), parsed.requests.front());
  }
  std::vector<EchoedPrompt> echoes;
  for (Request& request : parsed.requests) {
    std::string text = request.prompt;
    tokenize_prompt(served.engine, request);
    if (!parsed.echo) continue;
    if (text.empty()) text = served.engine.detokenize(request.prompt_tokens, true);
    echoes.push_back({.text = std::move(text), .tokens = request.prompt_tokens});
  }
  std::make_shared<OpenAiAnswer>(kEndpoint, parsed, std::move(echoes), std::move(tools), served, exchange)
      ->submit(parsed.requests, {.priority = parsed.priority, .seconds = parsed.seconds});
}

}  // namespace

std::span<const Endpoint> openai_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"POST", "/v1/chat/completions", complete<OpenAiEndpoint::ChatCompletions>},
      Endpoint{"POST", "/v1/completions", complete<OpenAiEndpoint::Completions>},
  };
  return kEndpoints;
}

}  // namespace augur
