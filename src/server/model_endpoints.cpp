#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/utf8.h"
#include "server/answers/generation_answer.h"
#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/json_fields.h"
#include "server/keys/key_metrics.h"
#include "server/openai/openai_request.h"
#include "server/tokenize_fields.h"
#include "server/turns/chat_turn.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

void load(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const SessionLoad load = load_for(served);
  const ordered_json body = {{"running", load.running},
                             {"waiting", load.waiting},
                             {"steps", load.steps},
                             {"memory", load.memory},
                             {"memory_in_use", load.memory_in_use},
                             {"cache_bytes_in_use", load.cache_bytes_in_use},
                             {"prompt_tokens", load.prompt_tokens},
                             {"cached_tokens", load.cached_tokens},
                             {"num_draft_tokens", load.drafted_tokens},
                             {"num_accepted_tokens", load.accepted_tokens}};
  exchange->respond(200, text_of(body));
}

void metrics(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  if (!served.options.serves_metrics) throw Problem(501, "this server was started with --no-metrics");
  exchange->respond(200, served.metrics.text(load_for(served)) + key_metrics(served),
                    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}});
}

/// With llama.cpp's names for what it has of a model.
ordered_json model_json(const Served& served) {
  const ServiceOptions& options = served.options;
  const ModelInfo& info = served.engine.info();
  ordered_json aliases = ordered_json::array({options.model});
  for (const std::string& alias : options.aliases) aliases.push_back(alias);
  return {{"id", options.model},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "augur"},
          {"max_model_len", info.context},
          {"aliases", std::move(aliases)},
          {"tags", options.tags},
          {"meta", {{"n_vocab", info.vocab}, {"n_ctx", info.context}, {"size", info.weight_bytes}}}};
}

void models(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  exchange->respond(200, text_of({{"object", "list"}, {"data", {model_json(served)}}}));
}

/// A path's bytes that are written as %XX.
std::string unescaped(std::string_view path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    unsigned char byte = 0;
    const char* const end = path.data() + std::min(path.size(), i + 3);
    if (path[i] == '%' && std::from_chars(path.data() + i + 1, end, byte, 16).ptr == path.data() + i + 3) {
      text += static_cast<char>(byte);
      i += 2;
    } else {
      text += path[i];
    }
  }
  return text;
}

/// One of its names, which may have slashes: `prefix` and the name.
void model(const Served& served, const HttpRequest& request, std::string_view prefix,
           const std::shared_ptr<Exchange>& exchange) {
  const std::string asked = unescaped(std::string_view(request.path).substr(prefix.size()));
  if (!is_served(served, asked))
    throw Problem(404, fmt::format("there is no model '{}' here", asked), "model");
  exchange->respond(200, text_of(model_json(served)));
}

void model_of_v1(const Served& served, const HttpRequest& request,
                 const std::shared_ptr<Exchange>& exchange) {
  model(served, request, "/v1/models/", exchange);
}

void model_of_root(const Served& served, const HttpRequest& request,
                   const std::shared_ptr<Exchange>& exchange) {
  model(served, request, "/models/", exchange);
}

/// A JSON list as text: of millions of tokens a document would take a multiple of it.
template <class Write>
std::string list_of(std::span<const TokenId> tokens, const Write& write) {
  std::string list = "[";
  for (const TokenId token : tokens) {
    if (list.size() > 1) list += ',';
    list += write(token);
  }
  return list + ']';
}

/// llama.cpp's form of /tokenize: "content".
void tokenize_content(const Served& served, const ordered_json& object, FieldNotes& notes,
                      Exchange& exchange) {
  const Engine& engine = served.engine;
  ContentToTokenize content;
  read_object(tokenize_content_fields(), "", object, notes, content);
  tell_ignored(notes, served, exchange);
  const std::vector<TokenId> ids = content.add_special
                                       ? engine.tokenize(content.text, content.parse_special)
                                       : engine.tokenize_part(content.text, content.parse_special);
  const auto write = [&](TokenId id) {
    if (!content.with_pieces) return std::to_string(id);
    const std::string piece = engine.token_bytes(id);
    const bool whole = valid_utf8_prefix(piece) == piece.size();
    return text_of({{"id", id}, {"piece", whole ? ordered_json(piece) : bytes_json(piece)}});
  };
  exchange.respond(200, "{\"tokens\":" + list_of(ids, write) + "}");
}

void answer_tokens(const Engine& engine, const std::vector<TokenId>& tokens, Exchange& exchange) {
  exchange.respond(200, fmt::format(R"({{"count":{},"max_model_len":{},"tokens":{}}})", tokens.size(),
                                    engine.info().context,
                                    list_of(tokens, [](TokenId id) { return std::to_string(id); })));
}

/// vLLM's form: "prompt", or "messages".
void tokenize(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  ordered_json object = parse_body(request.body, served.options.limits);
  FieldNotes notes = field_notes(served);
  if (object.contains("content")) {
    return tokenize_content(served, object, notes, *exchange);
  }
  const bool bare = object.contains("prompt") && object.value("add_special_tokens", ordered_json()) == false;
  if (bare) object.erase("add_special_tokens");
  const auto endpoint =
      object.contains("messages") ? OpenAiEndpoint::ChatCompletions : OpenAiEndpoint::Completions;
  OpenAiRequest parsed = parse_openai_request(endpoint, object, served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  if (parsed.requests.size() > 1) unexpected("prompt", "one prompt");
  Request& request_of = parsed.requests.front();
  if (bare && !request_of.prompt.empty()) {
    return answer_tokens(served.engine, served.engine.tokenize_part(request_of.prompt), *exchange);
  }
  if (endpoint == OpenAiEndpoint::ChatCompletions)
    prepare_chat(served.engine, parsed.tools, parsed.thoughts, request_of);
  tokenize_prompt(served.engine, request_of);
  answer_tokens(served.engine, request_of.prompt_tokens, *exchange);
}

/// What clients that count tokens themselves ask vLLM for.
void tokenizer_info(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const ModelInfo& info = served.engine.info();
  ordered_json body = {{"tokenizer_class", "augur"}, {"model_max_length", info.context}};
  body["bos_token"] = info.bos_token.empty() ? ordered_json() : ordered_json(info.bos_token);
  body["eos_token"] = info.eos_token.empty() ? ordered_json() : ordered_json(info.eos_token);
  body["chat_template"] =
      info.has_chat_template ? ordered_json(served.engine.chat_template()) : ordered_json();
  exchange->respond(200, text_of(body));
}

void detokenize(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  std::vector<TokenId> ids;
  FieldNotes notes = field_notes(served);
  read_object(detokenize_fields(), "", parse_body(request.body, served.options.limits), notes, ids);
  tell_ignored(notes, served, *exchange);
  for (const TokenId id : ids) {
    if (id < served.engine.info().vocab) continue;
    throw BadRequest("tokens",
                     fmt::format("expected token ids below {}, found {}", served.engine.info().vocab, id));
  }
  const std::string text = served.engine.detokenize(ids, true);
  exchange->respond(200, text_of({{"prompt", text}, {"content", text}}));
}

}  // namespace

std::span<const Endpoint> model_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{.method = "GET", .path = "/load", .handle = load, .polled = true},
      Endpoint{.method = "GET", .path = "/metrics", .handle = metrics, .polled = true},
      Endpoint{"GET", "/v1/models", models},
      Endpoint{"GET", "/models", models},
      Endpoint{"GET", "/v1/models/{path}", model_of_v1},
      Endpoint{"GET", "/models/{path}", model_of_root},
      Endpoint{"POST", "/tokenize", tokenize},
      Endpoint{"POST", "/detokenize", detokenize},
      Endpoint{"GET", "/tokenizer_info", tokenizer_info},
  };
  return kEndpoints;
}

}  // namespace augur
