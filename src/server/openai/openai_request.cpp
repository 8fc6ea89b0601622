#include "server/openai/openai_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "files/big_integers.h"
#include "server/fields/foreign_fields.h"
#include "server/fields/json_fields.h"
#include "server/openai/openai_messages.h"
#include "server/openai/openai_tools.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What a body is read into.
struct Draft {
  OpenAiRequest to;
  RequestDraft shared;
  ToolFields tools;
  bool usage_asked = false;
  bool logprobs = false;
  std::optional<bool> generation_prompt;  ///< add_generation_prompt
  bool continues = false;                 ///< continue_final_message
};

/// A text, or a list of token ids.
Request prompt(const std::string& field, const ordered_json& value) {
  Request to;
  if (value.is_string()) {
    to.prompt = value.get<std::string>();
    return to;
  }
  if (!value.is_array() || value.empty()) unexpected(field, "a string or a list of token ids");
  for (std::size_t i = 0; i < value.size(); ++i) {
    to.prompt_tokens.push_back(static_cast<TokenId>(
        read_integer(fmt::format("{}[{}]", field, i), value[i], 0, std::numeric_limits<TokenId>::max())));
  }
  return to;
}

/// One of them, or a list.
std::vector<Request> prompts(const ordered_json& value, const Limits& limits) {
  if (!value.is_array() || value.empty() || value[0].is_number()) return {prompt("prompt", value)};
  if (std::ssize(value) > limits.prompts) {
    unexpected("prompt", fmt::format("at most {} prompts", limits.prompts));
  }
  std::vector<Request> to;
  for (std::size_t i = 0; i < value.size(); ++i) {
    to.push_back(prompt(fmt::format("prompt[{}]", i), value[i]));
  }
  return to;
}

const FieldTable<OpenAiRequest>& stream_fields() {
  static const FieldTable<OpenAiRequest> table = {
      {{"include_usage", FieldType::boolean()},
       [](const FieldValue& v, OpenAiRequest& to) { to.stream_usage = v.boolean(); }},
      ignored_field<OpenAiRequest>("include_obfuscation", FieldType::boolean()),
      fixed_field<OpenAiRequest>("continuous_usage_stats", "[false]"),
  };
  return table;
}

const FieldTable<Request>& slo_fields() {
  static const FieldTable<Request> table = {
      {{"tpot_ms", FieldType::number(1e-3, 1e6)},
       [](const FieldValue& v, Request& to) { to.tpot_ms = v.number(); }}};
  return table;
}

/// What vllm-router writes into every request that it passes on, and how it is here anyway.
const FieldTable<Draft>& router_fields() {
  constexpr std::string_view kWho = "written by vllm-router";
  static const FieldTable<Draft> table = {
      fixed_field<Draft>("no_stop_trim", "[false]", kWho),
      fixed_field<Draft>("skip_special_tokens", "[true]", kWho),
      fixed_field<Draft>("return_hidden_states", "[false]", kWho),
      fixed_field<Draft>("continue_final_message", "[false]", kWho),
      fixed_field<Draft>("separate_reasoning", "[true]", kWho),
      fixed_field<Draft>("stream_reasoning", "[true]", kWho),
      fixed_field<Draft>("include_reasoning", "[true]", kWho),
  };
  return table;
}

Field<Draft> token_limit(std::string_view name) {
  return {{name, FieldType::integer(-1, kMostTokens), "-1: as many as the context holds"},
          [](const FieldValue& v, Draft& to) { to.shared.request.max_tokens = v.integer(); }};
}

FieldTable<Draft> shared_fields() {
  static const auto shared = [](Draft& draft) -> RequestDraft& { return draft.shared; };
  const FieldTable<Draft> own = {
      {{"model", FieldType::text()}, [](const FieldValue& v, Draft& to) { to.to.model = v.text(); }},
      token_limit("max_tokens"),
      token_limit("n_predict"),
      {{"n", FieldType::integer(1, &Limits::choices), "choices"},
       [](const FieldValue& v, Draft& to) { to.to.choices = static_cast<int>(v.integer()); }},
      {{"stream", FieldType::boolean()}, [](const FieldValue& v, Draft& to) { to.to.stream = v.boolean(); }},
      {{"stream_options", FieldType::schema(R"({"type": "object", "properties": {
          "include_usage": {"type": ["boolean", "null"]}}})")},
       [](const FieldValue& v, Draft& to) {
         read_object(stream_fields(), v.path, v.json, v.notes, to.to);
         to.usage_asked = true;
       }},
      {{"slo", FieldType::schema(R"({"type": "object", "properties": {
          "tpot_ms": {"type": "number", "minimum": 0.001, "maximum": 1000000}}})"),
        "a promised time per token"},
       [](const FieldValue& v, Draft& to) {
         read_object(slo_fields(), v.path, v.json, v.notes, to.shared.request);
       }},
      {{"timeout", FieldType::number(1e-3, 1e9), "seconds; then it is a 504"},
       [](const FieldValue& v, Draft& to) { to.to.seconds = v.number(); }},
      {{"return_speculation", FieldType::boolean(),
        "streams: who proposed each token, and the tree of every round"},
       [](const FieldValue& v, Draft& to) { to.to.stream_speculation = v.boolean(); }},
      {{"priority", FieldType::integer(-1000000, 1000000), "the lowest begins first"},
       [](const FieldValue& v, Draft& to) { to.to.priority = -static_cast<int>(v.integer()); }},
  };
  return joined<Draft>(
      {fields_of<Draft>(sampling_fields(), shared), fields_of<Draft>(stop_fields(), shared),
       fields_of<Draft>(grammar_fields(), shared), fields_of<Draft>(cache_fields(), shared),
       fields_of<Draft>(answer_fields(), [](Draft& draft) -> AnswerWishes& { return draft.to.wishes; }),
       router_fields(), caller_fields<Draft>(), vllm_fields<Draft>(), llamacpp_fields<Draft>(), own});
}

const FieldTable<Draft>& chat_fields() {
  static const FieldTable<Draft> table = joined<Draft>(
      {shared_fields(),
       openai_chat_fields<Draft>(),
       fields_of<Draft>(tool_fields(), [](Draft& draft) -> ToolFields& { return draft.tools; }),
       fields_of<Draft>(thought_fields(), [](Draft& draft) -> ThoughtWishes& { return draft.to.thoughts; }),
       {{{"messages",
          FieldType::schema(
              R"({"type": "array", "items": {"$ref": "#/components/schemas/ChatMessage"}, "minItems": 1})"),
          {},
          true},
         [](const FieldValue& v, Draft& to) {
           to.to.requests.resize(1);
           to.to.requests.front().messages = read_openai_messages(v.json, v.notes);
         }},
        token_limit("max_completion_tokens"),
        {{"logprobs", FieldType::boolean()},
         [](const FieldValue& v, Draft& to) { to.logprobs = v.boolean(); }},
        {{"top_logprobs", FieldType::integer(0, &Limits::logprobs)},
         [](const FieldValue& v, Draft& to) { to.shared.request.logprobs = static_cast<int>(v.integer()); }},
        fixed_field<Draft>("add_special_tokens", "[false]", "the template writes them"),
        {{"add_generation_prompt", FieldType::boolean(), "the prompt ends where the reply begins (true)"},
         [](const FieldValue& v, Draft& to) { to.generation_prompt = v.boolean(); }},
        {{"continue_final_message", FieldType::boolean(),
          "the prompt ends within the assistant's last message, which is to go on"},
         [](const FieldValue& v, Draft& to) { to.continues = v.boolean(); }},
        {{"chat_template_kwargs", FieldType::schema(R"({"type": "object"})"),
          "further variables for the chat template"},
         [](const FieldValue& v, Draft& to) {
           if (!v.json.is_object()) unexpected(v.path, "an object");
           if (!v.json.empty()) to.shared.request.template_kwargs = write_exact_json(v.json);
         }},
        fixed_field<Draft>("echo", "[false]")}});
  return table;
}

const FieldTable<Draft>& completion_fields() {
  static const FieldTable<Draft> table = joined<Draft>(
      {shared_fields(),
       {{{"prompt",
          FieldType::schema(R"({"oneOf": [{"type": "string"},
            {"type": "array", "items": {"$ref": "#/components/schemas/TokenId"}, "minItems": 1},
            {"type": "array", "items": {"oneOf": [{"type": "string"},
              {"type": "array", "items": {"$ref": "#/components/schemas/TokenId"}, "minItems": 1}]},
             "minItems": 1}]})"),
          {},
          true},
         [](const FieldValue& v, Draft& to) { to.to.requests = prompts(v.json, v.notes.limits); }},
        {{"echo", FieldType::boolean()}, [](const FieldValue& v, Draft& to) { to.to.echo = v.boolean(); }},
        {{"logprobs", FieldType::integer(0, &Limits::logprobs)},
         [](const FieldValue& v, Draft& to) { to.shared.request.logprobs = static_cast<int>(v.integer()); }},
        fixed_field<Draft>("add_special_tokens", "[true]"),
        absent_field<Draft>("suffix")}});
  return table;
}

const FieldTable<Draft>& fields(OpenAiEndpoint endpoint) {
  return endpoint == OpenAiEndpoint::ChatCompletions ? chat_fields() : completion_fields();
}

/// How the prompt ends. llama.cpp's clients write how the reply is to begin as a last message of the
/// assistant's.
ChatEnd chat_end(const Draft& draft, const std::vector<Message>& messages, const RequestDefaults& defaults) {
  if (draft.continues && draft.generation_prompt.value_or(false)) {
    throw BadRequest("continue_final_message",
                     "either the last message goes on, or a reply begins (add_generation_prompt)");
  }
  if (draft.continues) return ChatEnd::Continue;
  if (draft.generation_prompt) return *draft.generation_prompt ? ChatEnd::Reply : ChatEnd::Turn;
  const bool begun = messages.back().role == "assistant" && messages.back().tool_calls.empty();
  return begun && defaults.prefill_assistant ? ChatEnd::Continue : ChatEnd::Reply;
}

}  // namespace

OpenAiRequest parse_openai_request(OpenAiEndpoint endpoint, const ordered_json& body,
                                   const SpeculationPlan& plan, FieldNotes& notes) {
  const bool chat = endpoint == OpenAiEndpoint::ChatCompletions;
  Draft draft;
  draft.shared.request.sampling.temperature = 1;
  draft.shared.request.max_tokens = chat ? -1 : 16;
  draft.to.wishes.verbose = notes.defaults.verbose;
  lay_defaults(notes.defaults, draft.shared);
  draft.to.thoughts = default_wishes(notes.defaults);
  read_object(fields(endpoint), "", body, notes, draft);
  OpenAiRequest& to = draft.to;
  to.tools = offered_by(draft.tools);
  Request request = finish_draft(draft.shared, plan);  // but for the prompt
  if (draft.usage_asked && !to.stream) throw BadRequest("stream_options", "goes with \"stream\": true");
  if (to.stream_speculation && !to.stream)
    throw BadRequest("return_speculation", "goes with \"stream\": true");
  if (draft.logprobs) request.logprobs = std::max(request.logprobs, 0);
  if (chat && !draft.logprobs && request.logprobs >= 0) {
    throw BadRequest("top_logprobs", "goes with \"logprobs\": true");
  }
  request.prompt_logprobs = to.echo && request.logprobs >= 0;
  if (request.prompt_logprobs && to.stream) {
    throw BadRequest("echo", "the prompt's log-probabilities are not streamed: expected \"stream\": false");
  }
  if (chat) request.chat_end = chat_end(draft, to.requests.front().messages, notes.defaults);
  check_stop_bytes("stop", request.stop, to.requests.size() * static_cast<std::size_t>(to.choices),
                   notes.limits);
  for (Request& prompted : to.requests) {
    Request whole = request;
    whole.prompt = std::move(prompted.prompt);
    whole.prompt_tokens = std::move(prompted.prompt_tokens);
    whole.messages = std::move(prompted.messages);
    prompted = std::move(whole);
  }
  return std::move(to);
}

ordered_json openai_schema(OpenAiEndpoint endpoint) {
  return object_schema(specs_of(fields(endpoint)));
}

}  // namespace augur
