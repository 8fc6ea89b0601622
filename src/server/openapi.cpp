#include "server/openapi.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "server/anthropic/anthropic_request.h"
#include "server/health.h"
#include "server/llamacpp/llamacpp_request.h"
#include "server/llamacpp/slot_endpoints.h"
#include "server/openai/openai_request.h"
#include "server/responses/responses_request.h"
#include "server/tokenize_fields.h"
#include "server/tools/offered_tools.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What an endpoint takes and answers. Schemas are named as in "components"; an empty one: no body, or text.
struct Operation {
  std::string_view method;
  std::string_view path;
  std::string_view tag;
  std::string_view summary;
  std::string_view request;
  std::string_view answer;
  std::string_view errors;  ///< statuses
  bool streams = false;
};

constexpr std::string_view kGets = "401 403 431 503";
constexpr std::string_view kReads = "400 401 403 408 413 415 431 500 503";
constexpr std::string_view kUnable = "401 403 408 413 415 431 501 503";
constexpr std::string_view kGenerates = "400 401 403 404 408 413 415 429 431 500 503 504";

constexpr std::array kOperations = {
    Operation{"post", "/v1/chat/completions", "OpenAI", "An answer in a conversation",
              "ChatCompletionRequest", "ChatCompletion", kGenerates, true},
    Operation{"post", "/chat/completions", "OpenAI", "The same", "ChatCompletionRequest", "ChatCompletion",
              kGenerates, true},
    Operation{"post", "/v1/chat/completions/input_tokens", "OpenAI", "Tokens that a conversation has",
              "ChatCompletionRequest", "TokenCount", kReads},
    Operation{"post", "/chat/completions/input_tokens", "OpenAI", "The same", "ChatCompletionRequest",
              "TokenCount", kReads},
    Operation{"post", "/v1/completions", "OpenAI", "Text that follows a prompt", "CompletionRequest",
              "Completion", kGenerates, true},
    Operation{"post", "/v1/responses", "OpenAI", "An answer, in OpenAI's newer form", "ResponsesRequest",
              "Response", kGenerates, true},
    Operation{"post", "/responses", "OpenAI", "The same", "ResponsesRequest", "Response", kGenerates, true},
    Operation{"get", "/v1/models", "OpenAI", "The model that is served", {}, "Models", kGets},
    Operation{"get", "/models", "OpenAI", "The same", {}, "Models", kGets},
    Operation{"get",
              "/v1/models/{path}",
              "OpenAI",
              "The model, by one of its names",
              {},
              "Model",
              "401 403 404 431 503"},
    Operation{"get", "/models/{path}", "OpenAI", "The same", {}, "Model", "401 403 404 431 503"},
    Operation{"post", "/v1/messages", "Anthropic", "An answer in a conversation", "MessagesRequest",
              "AnthropicAnswer", kGenerates, true},
    Operation{"post", "/v1/messages/count_tokens", "Anthropic", "Tokens that a conversation has",
              "CountTokensRequest", "TokenCount", "400 401 403 404 408 413 415 431 500 503"},
    Operation{"post", "/completion", "llama.cpp", "Text that follows a prompt", "LlamaCppRequest",
              "LlamaCppAnswers", kGenerates, true},
    Operation{"post", "/completions", "llama.cpp", "The same", "LlamaCppRequest", "LlamaCppAnswers",
              kGenerates, true},
    Operation{"post", "/infill", "llama.cpp", "Text between two others", "InfillRequest", "LlamaCppAnswers",
              "400 401 403 404 408 413 415 429 431 500 501 503 504", true},
    Operation{"post", "/apply-template", "llama.cpp", "A conversation as the model reads it",
              "ChatCompletionRequest", "RenderedPrompt", kReads},
    Operation{"get", "/props", "llama.cpp", "The model and default settings", {}, "Object", kGets},
    Operation{"get", "/lora-adapters", "llama.cpp", "None: an empty list", {}, "List", kGets},
    Operation{"post", "/embedding", "llama.cpp", "Not served", "Object", "Object", kUnable},
    Operation{"post", "/embeddings", "llama.cpp", "Not served", "Object", "Object", kUnable},
    Operation{"post", "/v1/embeddings", "OpenAI", "Not served", "Object", "Object", kUnable},
    Operation{"post", "/rerank", "llama.cpp", "Not served", "Object", "Object", kUnable},
    Operation{"post", "/reranking", "llama.cpp", "Not served", "Object", "Object", kUnable},
    Operation{"post", "/v1/rerank", "llama.cpp", "Not served", "Object", "Object", kUnable},
    Operation{"get",
              "/slots",
              "llama.cpp",
              "What runs: one object for each place",
              {},
              "Slots",
              "401 403 431 501 503"},
    Operation{"post", "/slots/{id}", "llama.cpp",
              "Saves, restores or erases the text of a place (--slot-save-path)", "SlotRequest", "Object",
              "400 401 403 404 408 409 413 415 431 501 503 507"},
    Operation{"post", "/tokenize", "llama.cpp", "Token ids of a text or a conversation", "TokenizeRequest",
              "Tokens", kReads},
    Operation{"post", "/detokenize", "llama.cpp", "The text of token ids", "DetokenizeRequest", "Text",
              kReads},
    Operation{"get",
              "/tokenizer_info",
              "Server",
              "What ends a text, and the chat template",
              {},
              "TokenizerInfo",
              kGets},
    Operation{"get", "/load", "Server", "How much is going on", {}, "Load", kGets},
    Operation{"get",
              "/metrics",
              "Server",
              "Prometheus's text form, under vLLM's names and our own",
              {},
              {},
              "401 403 431 501 503"},
    Operation{"get", "/health", "Server", "Whether it serves", {}, "Health", "403 431 503"},
    Operation{"get", "/health/ready", "Server", "The same", {}, "Health", "403 431 503"},
    Operation{"get", "/health/live", "Server", "Whether it runs, loads or drains", {}, "Health", "403 431"},
    Operation{"get", "/v1/health", "Server", "Whether it serves", {}, "Health", kGets},
    Operation{"get", "/openapi.json", "Server", "This description", {}, "Object", kGets},
};

struct Status {
  std::string_view code;
  std::string_view description;
};
constexpr std::array kStatuses = {
    Status{"400", "A field is not as it must be; the message names it."},
    Status{"401", "None of the server's API keys."},
    Status{"403", "Not for this host, or not for pages of this origin."},
    Status{"404", "No such model, or no such text of this client."},
    Status{"408", "The request did not come in time."},
    Status{"409", "A request is being decoded there."},
    Status{"413", "The body is too large."},
    Status{"415", "The body is encoded."},
    Status{"429", "Too many requests wait: try again after Retry-After seconds."},
    Status{"431", "The header is too large."},
    Status{"500", "The server failed."},
    Status{"501", "This server, its build or its model cannot do it."},
    Status{"503", "The server loads its model, or is about to end."},
    Status{"504", "The request's own timeout has passed."},
    Status{"507", "Saved texts take all that they may."}};

ordered_json reference(std::string_view kind, std::string_view name) {
  return {{"$ref", fmt::format("#/components/{}/{}", kind, name)}};
}

ordered_json json_content(std::string_view schema) {
  return {{"application/json", {{"schema", reference("schemas", schema)}}}};
}

ordered_json slot_parameters() {
  return ordered_json::parse(R"([
    {"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 0}},
    {"name": "action", "in": "query", "required": true, "schema": {"enum": ["save", "restore", "erase"]}}])");
}

ordered_json operation_json(const Operation& from) {
  ordered_json to = {{"tags", {from.tag}}, {"summary", from.summary}};
  if (is_open_health(from.path)) to["security"] = ordered_json::parse("[{}]");
  if (from.path == "/slots/{id}") to["parameters"] = slot_parameters();
  if (from.path.ends_with("{path}")) {
    to["parameters"] = ordered_json::parse(
        R"([{"name": "path", "in": "path", "required": true, "schema": {"type": "string"}}])");
  }
  if (!from.request.empty()) {
    to["requestBody"] = {{"required", from.path != "/slots/{id}"}, {"content", json_content(from.request)}};
  }
  ordered_json content = from.answer.empty()
                             ? ordered_json{{"text/plain", {{"schema", {{"type", "string"}}}}}}
                             : json_content(from.answer);
  if (from.streams) content["text/event-stream"] = ordered_json::object();
  to["responses"]["200"] = {{"description", "The answer."}, {"content", std::move(content)}};
  const char* const form = from.tag == "Anthropic" ? "AnthropicError" : "Error";
  std::istringstream codes{std::string(from.errors)};
  for (std::string code; codes >> code;) to["responses"][code] = reference("responses", form + code);
  return to;
}

/// What is refused before an endpoint is known is refused in OpenAI's form.
ordered_json error_responses() {
  ordered_json to = ordered_json::object();
  for (const char* const form : {"Error", "AnthropicError"}) {
    for (const Status& status : kStatuses) {
      const bool early = status.code == "431";
      to[form + std::string(status.code)] = {{"description", status.description},
                                             {"content", json_content(early ? "Error" : form)}};
    }
  }
  return to;
}

/// The chat's and the prompt's fields, of which no one is there always.
ordered_json tokenize_schema() {
  return {{"anyOf",
           {reference("schemas", "ChatCompletionRequest"), reference("schemas", "CompletionRequest"),
            object_schema(specs_of(tokenize_content_fields()))}}};
}

ordered_json schemas() {
  static constexpr std::string_view kNested =
#include "openapi_schemas.inc"
      ;
  ordered_json to = ordered_json::parse(kNested);
  to["ChatCompletionRequest"] = openai_schema(OpenAiEndpoint::ChatCompletions);
  to["CompletionRequest"] = openai_schema(OpenAiEndpoint::Completions);
  to["ResponsesRequest"] = responses_schema();
  to["ResponsesTool"] = responses_tool_schema();
  to["MessagesRequest"] = anthropic_schema(AnthropicEndpoint::Messages);
  to["CountTokensRequest"] = anthropic_schema(AnthropicEndpoint::CountTokens);
  to["AnthropicTool"] = anthropic_tool_schema();
  to["LlamaCppRequest"] = completion_schema();
  to["InfillRequest"] = infill_schema();
  to["SlotRequest"] = slot_schema();
  to["TokenizeRequest"] = tokenize_schema();
  to["DetokenizeRequest"] = object_schema(specs_of(detokenize_fields()));
  to["Function"] = object_schema(specs_of(function_fields("parameters")));
  return to;
}

}  // namespace

ordered_json openapi_description() {
  ordered_json paths = ordered_json::object();
  for (const Operation& operation : kOperations) {
    paths[std::string(operation.path)][std::string(operation.method)] = operation_json(operation);
  }
  ordered_json to = ordered_json::parse(R"({
    "openapi": "3.1.0",
    "info": {"title": "augur serve", "version": "1",
             "description": "OpenAI's, Anthropic's and llama.cpp's APIs over one model. See docs/serving.md."},
    "security": [{}, {"Bearer": []}, {"Key": []}],
    "tags": [{"name": "OpenAI"}, {"name": "Anthropic"}, {"name": "llama.cpp"}, {"name": "Server"}]})");
  to["paths"] = std::move(paths);
  to["components"]["securitySchemes"] = ordered_json::parse(R"({
    "Bearer": {"type": "http", "scheme": "bearer"},
    "Key": {"type": "apiKey", "in": "header", "name": "x-api-key"}})");
  to["components"]["responses"] = error_responses();
  to["components"]["schemas"] = schemas();
  return to;
}

}  // namespace augur
