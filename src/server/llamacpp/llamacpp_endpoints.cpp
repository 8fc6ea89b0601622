#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "augur/build_info.h"
#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/fields/json_fields.h"
#include "server/llamacpp/completion_json.h"
#include "server/llamacpp/llamacpp_answer.h"
#include "server/llamacpp/llamacpp_request.h"
#include "server/openai/openai_request.h"
#include "server/turns/chat_turn.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

void answer_completion(const Served& served, LlamaCppRequest parsed,
                       const std::shared_ptr<Exchange>& exchange) {
  const std::vector<Request> requests = parsed.requests;
  std::make_shared<LlamaCppAnswer>(std::move(parsed), served, exchange)->submit(requests, {});
}

void completion(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  FieldNotes notes = field_notes(served);
  LlamaCppRequest parsed = parse_completion(served.engine, http.body, served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  answer_completion(served, std::move(parsed), exchange);
}

void infill(const Served& served, const HttpRequest& http, const std::shared_ptr<Exchange>& exchange) {
  FieldNotes notes = field_notes(served);
  LlamaCppRequest parsed = parse_infill(served.engine, http.body, served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  answer_completion(served, std::move(parsed), exchange);
}

void apply_template(const Served& served, const HttpRequest& http,
                    const std::shared_ptr<Exchange>& exchange) {
  FieldNotes notes = field_notes(served);
  OpenAiRequest parsed =
      parse_openai_request(OpenAiEndpoint::ChatCompletions, parse_body(http.body, served.options.limits),
                           served.options.speculation, notes);
  tell_ignored(notes, served, *exchange);
  Request& request = parsed.requests.front();
  prepare_chat(served.engine, parsed.tools, parsed.thoughts, request);
  try {
    exchange->respond(200, text_of({{"prompt", served.engine.render_chat(request)}}));
  } catch (const std::runtime_error& error) {
    throw BadRequest("messages", error.what());
  }
}

/// What a request's "speculative" can name here.
ordered_json speculative_props(const Served& served) {
  ordered_json types = ordered_json::array({"none"});
  for (const std::string& name : served.engine.drafters()) types.push_back(name);
  return {{"types", std::move(types)},
          {"default", fmt::format("{}", fmt::join(served.engine.speculation().drafters, ","))}};
}

void props(const Served& served, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const ModelInfo& model = served.engine.info();
  const ordered_json body = {
      {"default_generation_settings",
       {{"n_ctx", model.context},
        {"params", generation_settings(llamacpp_defaults(served.options.defaults), false, model)}}},
      {"total_slots", served.session_options.parallel},
      {"model_alias", served.options.model},
      {"model_path", std::filesystem::path(model.path).lexically_normal().filename().string()},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"chat_template", served.engine.chat_template()},
      {"bos_token", model.bos_token},
      {"eos_token", model.eos_token},
      {"speculative", speculative_props(served)},
      {"build_info", fmt::format("augur {} ({})", build_info().version, build_info().commit)},
      {"system_fingerprint", model.fingerprint}};
  exchange->respond(200, text_of(body));
}

/// What other models are for, or other servers.
void unable(const Served&, const HttpRequest& http, const std::shared_ptr<Exchange>&) {
  throw Problem(501, http.path + ": this server generates text, and does not embed or rank it");
}

void adapters(const Served&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  exchange->respond(200, "[]");
}

}  // namespace

std::span<const Endpoint> llamacpp_endpoints() {
  static constexpr std::array kEndpoints = {
      Endpoint{"POST", "/completion", completion},
      Endpoint{"POST", "/completions", completion},
      Endpoint{"POST", "/infill", infill},
      Endpoint{"POST", "/apply-template", apply_template},
      Endpoint{"GET", "/props", props},
      Endpoint{"GET", "/lora-adapters", adapters},
      Endpoint{"POST", "/embedding", unable},
      Endpoint{"POST", "/embeddings", unable},
      Endpoint{"POST", "/v1/embeddings", unable},
      Endpoint{"POST", "/rerank", unable},
      Endpoint{"POST", "/reranking", unable},
      Endpoint{"POST", "/v1/rerank", unable},
  };
  return kEndpoints;
}

}  // namespace augur
