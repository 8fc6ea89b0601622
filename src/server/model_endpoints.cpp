#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "server/endpoint.h"
#include "server/generation_answer.h"
#include "server/json_answers.h"
#include "server/json_fields.h"
#include "server/openai_request.h"

namespace augur {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void health(const Served&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  exchange->answer(200, R"({"status":"ok"})");
}

void models(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const ordered_json body = {{"object", "list"},
                             {"data",
                              {{{"id", served.options.model},
                                {"object", "model"},
                                {"created", 0},
                                {"owned_by", "augur"},
                                {"max_model_len", served.engine.info().context}}}}};
  exchange->answer(200, text_of(body));
}

/// vLLM's form: "prompt", or "messages".
void tokenize(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const json object = parse_body(request.body);
  const auto endpoint =
      object.contains("messages") ? OpenAiEndpoint::ChatCompletions : OpenAiEndpoint::Completions;
  OpenAiRequest parsed = parse_openai_request(endpoint, object, served.options.speculation);
  if (parsed.requests.size() > 1) unexpected("prompt", "one prompt");
  Request& request_of = parsed.requests.front();
  tokenize_prompt(served.engine, request_of);
  const ordered_json body = {{"count", request_of.prompt_tokens.size()},
                             {"max_model_len", served.engine.info().context},
                             {"tokens", request_of.prompt_tokens}};
  exchange->answer(200, text_of(body));
}

void detokenize(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const json object = parse_body(request.body);
  for (const auto& [key, value] : object.items()) {
    if (key != "tokens" && key != "model") unsupported(key);
  }
  const auto tokens = object.find("tokens");
  if (tokens == object.end() || !tokens->is_array())
    throw BadRequest("tokens", "expected a list of token ids");
  std::vector<TokenId> ids;
  for (const json& token : *tokens) {
    const std::int64_t id = token.is_number_integer() ? token.get<std::int64_t>() : -1;
    if (id < 0 || id >= served.engine.info().vocab) {
      throw BadRequest("tokens", fmt::format("expected token ids below {}, found {}",
                                             served.engine.info().vocab, token.dump()));
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  const std::string text = served.engine.detokenize(ids, true);
  exchange->answer(200, text_of({{"prompt", text}, {"content", text}}));
}

}  // namespace

std::span<const Endpoint> model_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"GET", "/health", health},
      Endpoint{"GET", "/v1/models", models},
      Endpoint{"POST", "/tokenize", tokenize},
      Endpoint{"POST", "/detokenize", detokenize},
  };
  return kEndpoints;
}

}  // namespace augur
