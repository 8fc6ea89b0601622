#include <array>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/responses/responses_answer.h"
#include "server/responses/responses_request.h"
#include "server/turns/chat_turn.h"

namespace augur {
namespace {

void respond(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  FieldNotes notes = field_notes(served);
  ResponsesRequest parsed = parse_responses_request(http.body, served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  require_model(served, parsed.model);
  AnswerParser parser = begin_chat(served.engine, parsed.tools, parsed.thoughts, parsed.request);
  std::make_shared<ResponsesAnswer>(served, parsed, served.options.model, std::move(parser), exchange)
      ->submit(parsed.request, {});
}

}  // namespace

std::span<const Endpoint> responses_endpoints() {
  static constexpr std::array kEndpoints = {Endpoint{"POST", "/v1/responses", respond},
                                            Endpoint{"POST", "/responses", respond}};
  return kEndpoints;
}

}  // namespace augur
