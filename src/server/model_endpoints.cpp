#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "io/unicode.h"
#include "server/answers/generation_answer.h"
#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/json_fields.h"
#include "server/openai/openai_request.h"
#include "server/openai/openai_tools.h"

namespace augur {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void health(const Served&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  exchange->respond(200, R"({"status":"ok"})");
}

void load(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const SessionLoad load = load_for(served);
  const ordered_json body = {{"running", load.running},
                             {"waiting", load.waiting},
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
  exchange->respond(200, served.metrics.text(load_for(served)),
                    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}});
}

void models(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const ordered_json body = {{"object", "list"},
                             {"data",
                              {{{"id", served.options.model},
                                {"object", "model"},
                                {"created", 0},
                                {"owned_by", "augur"},
                                {"max_model_len", served.engine.info().context}}}}};
  exchange->respond(200, text_of(body));
}

/// llama.cpp's form of /tokenize: "content".
void tokenize_content(const Engine& engine, const json& object, Exchange& exchange) {
  bool add_special = false;
  bool with_pieces = false;
  bool parse_special = true;
  for (const auto& [key, value] : object.items()) {
    if (key == "add_special") {
      add_special = read_boolean(key, value);
    } else if (key == "with_pieces") {
      with_pieces = read_boolean(key, value);
    } else if (key == "parse_special") {
      parse_special = read_boolean(key, value);
    } else if (key != "content" && key != "model") {
      unsupported(key);
    }
  }
  const std::string content = read_string("content", object["content"]);
  const std::vector<TokenId> ids =
      add_special ? engine.tokenize(content, parse_special) : engine.tokenize_part(content, parse_special);
  ordered_json tokens = ordered_json::array();
  for (const TokenId id : ids) {
    if (!with_pieces) {
      tokens.push_back(id);
      continue;
    }
    const std::string piece = engine.token_bytes(id);
    const bool whole = valid_utf8_prefix(piece) == piece.size();
    tokens.push_back({{"id", id}, {"piece", whole ? ordered_json(piece) : bytes_json(piece)}});
  }
  exchange.respond(200, text_of({{"tokens", std::move(tokens)}}));
}

void answer_tokens(const Engine& engine, const std::vector<TokenId>& tokens, Exchange& exchange) {
  exchange.respond(
      200, text_of({{"count", tokens.size()}, {"max_model_len", engine.info().context}, {"tokens", tokens}}));
}

/// vLLM's form: "prompt", or "messages".
void tokenize(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  json object = parse_body(request.body);
  if (object.contains("content")) return tokenize_content(served.engine, object, *exchange);
  const auto special = object.find("add_special_tokens");
  if (special != object.end() && object.contains("prompt")) {
    const bool add_special = read_boolean("add_special_tokens", *special);
    object.erase(special);
    if (!add_special && object["prompt"].is_string()) {
      parse_openai_request(OpenAiEndpoint::Completions, object, request.body, served.rules());
      return answer_tokens(served.engine, served.engine.tokenize_part(object["prompt"].get<std::string>()),
                           *exchange);
    }
  }
  const auto endpoint =
      object.contains("messages") ? OpenAiEndpoint::ChatCompletions : OpenAiEndpoint::Completions;
  OpenAiRequest parsed = parse_openai_request(endpoint, object, request.body, served.rules());
  if (parsed.requests.size() > 1) unexpected("prompt", "one prompt");
  Request& request_of = parsed.requests.front();
  if (endpoint == OpenAiEndpoint::ChatCompletions) {
    offer_tools(served.engine, read_openai_tools(request.body), request_of);
  }
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
  exchange->respond(200, text_of({{"prompt", text}, {"content", text}}));
}

}  // namespace

std::span<const Endpoint> model_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"GET", "/health", health},
      Endpoint{"GET", "/load", load},
      Endpoint{"GET", "/metrics", metrics},
      Endpoint{"GET", "/v1/models", models},
      Endpoint{"POST", "/tokenize", tokenize},
      Endpoint{"POST", "/detokenize", detokenize},
      Endpoint{"GET", "/tokenizer_info", tokenizer_info},
  };
  return kEndpoints;
}

}  // namespace augur
