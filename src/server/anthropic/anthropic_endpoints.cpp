#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/anthropic/anthropic_answer.h"
#include "server/anthropic/anthropic_errors.h"
#include "server/anthropic/anthropic_request.h"
#include "server/endpoint.h"
#include "server/turns/chat_turn.h"

namespace augur {
namespace {

AnthropicRequest read(AnthropicEndpoint endpoint, const Served& served, const HttpRequest& http,
                      Exchange& exchange) {
  FieldNotes notes = field_notes(served);
  AnthropicRequest parsed = parse_anthropic_request(endpoint, http.body, served.options.speculation, notes);
  tell_ignored(notes, served, exchange);
  return parsed;
}

void messages(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  AnthropicRequest parsed = read(AnthropicEndpoint::Messages, served, http, *exchange);
  require_model(served, parsed.model);
  AnswerParser parser = begin_chat(served.engine, parsed.tools, parsed.thoughts, parsed.request);
  std::make_shared<AnthropicAnswer>(served, parsed.stream, served.options.model,
                                    parsed.request.prompt_tokens.size(), std::move(parser), exchange)
      ->submit(parsed.request, {});
}

void count_tokens(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  AnthropicRequest parsed = read(AnthropicEndpoint::CountTokens, served, http, *exchange);
  prepare_chat(served.engine, parsed.tools, parsed.thoughts, parsed.request);
  tokenize_prompt(served.engine, parsed.request);
  exchange->respond(200, text_of({{"input_tokens", parsed.request.prompt_tokens.size()}}));
}

}  // namespace

std::span<const Endpoint> anthropic_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"POST", "/v1/messages", messages, &kAnthropicErrors},
      Endpoint{"POST", "/v1/messages/count_tokens", count_tokens, &kAnthropicErrors},
  };
  return kEndpoints;
}

}  // namespace augur
