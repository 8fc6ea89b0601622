#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/json_fields.h"
#include "server/openai/openai_answer.h"
#include "server/openai/openai_request.h"
#include "server/turns/chat_turn.h"

namespace augur {
namespace {

template <OpenAiEndpoint kEndpoint>
void complete(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  FieldNotes notes = field_notes(served);
  OpenAiRequest parsed = parse_openai_request(kEndpoint, parse_body(http.body, served.options.limits),
                                              served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  require_model(served, parsed.model);
  AnswerParser parser;
  if (kEndpoint == OpenAiEndpoint::ChatCompletions) {
    parser = begin_chat(served.engine, parsed.tools, parsed.thoughts, parsed.requests.front());
  }
  std::vector<EchoedPrompt> echoes;
  for (Request& request : parsed.requests) {
    std::string text = request.prompt;
    if (kEndpoint == OpenAiEndpoint::Completions) tokenize_prompt(served.engine, request);
    if (!parsed.echo) continue;
    if (text.empty()) text = served.engine.detokenize(request.prompt_tokens, true);
    echoes.push_back({.text = std::move(text), .tokens = request.prompt_tokens});
  }
  std::make_shared<OpenAiAnswer>(kEndpoint, parsed, std::move(echoes), std::move(parser), served, exchange)
      ->submit(parsed.requests, {.priority = parsed.priority, .seconds = parsed.seconds});
}

/// How many tokens a conversation has as a prompt.
void count_tokens(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  FieldNotes notes = field_notes(served);
  OpenAiRequest parsed =
      parse_openai_request(OpenAiEndpoint::ChatCompletions, parse_body(http.body, served.options.limits),
                           served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  Request& request = parsed.requests.front();
  prepare_chat(served.engine, parsed.tools, parsed.thoughts, request);
  tokenize_prompt(served.engine, request);
  exchange->respond(
      200, text_of({{"object", "response.input_tokens"}, {"input_tokens", request.prompt_tokens.size()}}));
}

}  // namespace

std::span<const Endpoint> openai_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"POST", "/v1/chat/completions", complete<OpenAiEndpoint::ChatCompletions>},
      Endpoint{"POST", "/chat/completions", complete<OpenAiEndpoint::ChatCompletions>},
      Endpoint{"POST", "/v1/chat/completions/input_tokens", count_tokens},
      Endpoint{"POST", "/chat/completions/input_tokens", count_tokens},
      Endpoint{"POST", "/v1/completions", complete<OpenAiEndpoint::Completions>},
  };
  return kEndpoints;
}

}  // namespace augur
