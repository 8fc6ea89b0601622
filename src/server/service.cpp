#include "server/service.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "server/json_answers.h"
#include "server/openai_answer.h"

namespace augur {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void refuse(Exchange& exchange, int status, std::string_view message, std::string_view field = {},
            HttpHeaders headers = {}) {
  exchange.answer(status, error_body(status, message, field), std::move(headers));
}

/// Takes as long wherever they differ: how long it takes tells nothing of the key.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

struct Service::Route {
  std::string_view method;
  std::string_view path;
  void (Service::*answer)(const HttpRequest&, const Exchanged&);
};

const std::vector<Service::Route>& Service::routes() {
  static const std::vector<Route> routes = {
      {"GET", "/health", &Service::health},
      {"GET", "/v1/models", &Service::models},
      {"POST", "/v1/chat/completions", &Service::chat_completions},
      {"POST", "/v1/completions", &Service::completions},
      {"POST", "/tokenize", &Service::tokenize},
      {"POST", "/detokenize", &Service::detokenize},
  };
  return routes;
}

Service::Service(ServiceOptions options) : options_(std::move(options)) {}
Service::~Service() = default;

void Service::open(Engine& engine, const SessionOptions& options) {
  engine_ = &engine;
  session_ = std::make_unique<Session>(engine, options);
  serving_ = true;
}

void Service::drain() {
  draining_ = true;
  if (session_) session_->drain();
}

bool Service::authorized(const HttpRequest& request) const {
  if (options_.api_keys.empty() || request.path == "/health") return true;
  constexpr std::string_view kScheme = "Bearer ";
  if (!request.authorization.starts_with(kScheme)) return false;
  const std::string_view key = std::string_view(request.authorization).substr(kScheme.size());
  bool found = false;
  for (const std::string& known : options_.api_keys) found |= equal(key, known);
  return found;
}

void Service::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const Route* route = nullptr;
  std::string allowed;
  for (const Route& r : routes()) {
    if (r.path != request.path) continue;
    if (r.method == request.method) route = &r;
    allowed += (allowed.empty() ? "" : ", ") + std::string(r.method);
  }
  if (!authorized(request)) {
    return refuse(*exchange, 401, "expected one of this server's API keys: Authorization: Bearer KEY", {},
                  {{"WWW-Authenticate", "Bearer"}});
  }
  if (route == nullptr && allowed.empty()) {
    return refuse(*exchange, 404, fmt::format("there is no {}", request.path));
  }
  if (route == nullptr) {
    return refuse(*exchange, 405, fmt::format("{} takes {}", request.path, allowed), {},
                  {{"Allow", allowed}});
  }
  if (!serving_) return refuse(*exchange, 503, "the model is loading", {}, {{"Retry-After", "1"}});
  if (draining_) return refuse(*exchange, 503, "the server is about to end", {}, {{"Retry-After", "1"}});
  try {
    (this->*route->answer)(request, exchange);
  } catch (const BadRequest& error) {
    refuse(*exchange, 400, error.what(), error.field());
  }
}

void Service::health(const HttpRequest&, const Exchanged& exchange) {
  exchange->answer(200, R"({"status":"ok"})");
}

void Service::models(const HttpRequest&, const Exchanged& exchange) {
  const ordered_json body = {{"object", "list"},
                             {"data",
                              {{{"id", options_.model},
                                {"object", "model"},
                                {"created", 0},
                                {"owned_by", "augur"},
                                {"max_model_len", engine_->info().context}}}}};
  exchange->answer(200, text_of(body));
}

/// vLLM's form: "prompt", or "messages".
void Service::tokenize(const HttpRequest& request, const Exchanged& exchange) {
  const json object = parse_body(request.body);
  const auto endpoint =
      object.contains("messages") ? OpenAiEndpoint::ChatCompletions : OpenAiEndpoint::Completions;
  OpenAiRequest parsed = parse_openai_request(endpoint, object, options_.speculation);
  tokenize_prompt(parsed.request);
  const ordered_json body = {{"count", parsed.request.prompt_tokens.size()},
                             {"max_model_len", engine_->info().context},
                             {"tokens", parsed.request.prompt_tokens}};
  exchange->answer(200, text_of(body));
}

void Service::detokenize(const HttpRequest& request, const Exchanged& exchange) {
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
    if (id < 0 || id >= engine_->info().vocab) {
      throw BadRequest("tokens", fmt::format("expected token ids below {}, found {}", engine_->info().vocab,
                                             token.dump()));
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  const std::string text = engine_->detokenize(ids, true);
  exchange->answer(200, text_of({{"prompt", text}, {"content", text}}));
}

void Service::chat_completions(const HttpRequest& request, const Exchanged& exchange) {
  complete(OpenAiEndpoint::ChatCompletions, request, exchange);
}

void Service::completions(const HttpRequest& request, const Exchanged& exchange) {
  complete(OpenAiEndpoint::Completions, request, exchange);
}

void Service::tokenize_prompt(Request& request) const {
  const char* const field = request.messages.empty() ? "prompt" : "messages";
  std::vector<TokenId> tokens;
  try {
    tokens = engine_->prompt_tokens(request);
  } catch (const std::runtime_error& error) {
    throw BadRequest(field, error.what());
  }
  if (tokens.empty()) throw BadRequest(field, "is empty");
  const ModelInfo& model = engine_->info();
  for (const TokenId token : tokens) {
    if (token < 0 || token >= model.vocab) {
      throw BadRequest(field, fmt::format("token {} is outside the vocabulary of {}", token, model.vocab));
    }
  }
  if (std::ssize(tokens) >= model.context) {
    throw BadRequest(field, fmt::format("it has {} tokens, but the context holds {}: expected at most {}",
                                        tokens.size(), model.context, model.context - 1));
  }
  request.prompt_tokens = std::move(tokens);
  request.prompt.clear();
  request.messages.clear();
}

void Service::complete(OpenAiEndpoint endpoint, const HttpRequest& http, const Exchanged& exchange) {
  OpenAiRequest parsed = parse_openai_request(endpoint, parse_body(http.body), options_.speculation);
  if (!parsed.model.empty() && parsed.model != options_.model) {
    return refuse(
        *exchange, 404,
        fmt::format("the model '{}' is not served here: expected '{}'", parsed.model, options_.model),
        "model");
  }
  tokenize_prompt(parsed.request);
  const auto answer = std::make_shared<OpenAiAnswer>(endpoint, parsed, options_.model, exchange);
  std::vector<Ticket> tickets;
  try {
    for (int i = 0; i < parsed.choices; ++i) {
      Request request = parsed.request;
      request.sampling.seed += static_cast<std::uint64_t>(i);
      tickets.push_back(session_->submit(std::move(request), answer->choice(i)));
    }
  } catch (const std::exception& error) {
    for (Ticket& ticket : tickets) ticket.cancel();
    const bool full = dynamic_cast<const QueueFull*>(&error) != nullptr;
    return refuse(*exchange, full ? 429 : 503, error.what(), {}, {{"Retry-After", "1"}});
  }
  answer->cancel_with_client(std::move(tickets));
}

}  // namespace augur
