#include "c_api/request.h"

#include <limits>
#include <utility>

#include "base/words.h"
#include "c_api/callbacks.h"
#include "c_api/handles.h"
#include "c_api/numbered.h"
#include "c_api/structs.h"

namespace augur::c_api {
namespace {

/// Sizes of elements where the caller says none, version 1 has these.
constexpr std::size_t kFirstToolCall = 3 * sizeof(void*);
constexpr std::size_t kFirstMessage = 9 * sizeof(void*);
/// Callers that are older than augur_request.message_size have a role and a content.
constexpr std::size_t kOldestMessage = 2 * sizeof(void*);
static_assert(sizeof(augur_tool_call) == kFirstToolCall && sizeof(augur_message) == kFirstMessage);

augur_request complete_request(const augur_request* given) {
  augur_request defaults = augur_request_default();
  defaults.message_size = kOldestMessage;
  augur_request all = complete(given, defaults, "augur_request");
  if (all.message_size == 0) all.message_size = kFirstMessage;
  return all;
}

Message message_of(const augur_message& from) {
  Message to;
  to.role = text_or_empty(from.role);
  to.content = text_or_empty(from.content);
  for_each_struct("tool_calls", from.tool_calls, from.tool_call_count,
                  from.tool_call_size == 0 ? kFirstToolCall : from.tool_call_size,
                  [&](const augur_tool_call& call) {
                    to.tool_calls.push_back({.id = text_or_empty(call.id),
                                             .name = text_or_empty(call.name),
                                             .arguments = text_or_empty(call.arguments)});
                  });
  to.tool_call_id = text_or_empty(from.tool_call_id);
  to.name = text_or_empty(from.name);
  to.absence = numbered("absence", from.absence, Message::Absence::Missing);
  to.reasoning = text_or_empty(from.reasoning);
  return to;
}

Message message(std::string role, std::string content) {
  Message to;
  to.role = std::move(role);
  to.content = std::move(content);
  return to;
}

/// The prompt in one of its three forms.
void set_prompt(const augur_request& from, Request& to) {
  const auto tokens = array("prompt_tokens", from.prompt_tokens, from.prompt_token_count);
  to.prompt_tokens.assign(tokens.begin(), tokens.end());
  for_each_struct("messages", from.messages, from.message_count, from.message_size,
                  [&](const augur_message& each) { to.messages.push_back(message_of(each)); });
  const bool given = !to.prompt_tokens.empty() || !to.messages.empty();
  if (from.system != nullptr && (from.chat == 0 || given))
    throw Error(refused("system"), "system goes with chat and prompt: expected it as the first of messages");
  if (given) {
    if (from.prompt != nullptr)
      throw Error(refused("prompt"),
                  "a request has a prompt and prompt_tokens or messages: expected one of them");
  } else if (from.chat != 0) {
    if (from.system != nullptr) to.messages.push_back(message("system", from.system));
    to.messages.push_back(message("user", text_or_empty(from.prompt)));
  } else {
    to.prompt = text_or_empty(from.prompt);
  }
}

SamplingOptions sampling_of(const augur_request& from) {
  SamplingOptions to;
  to.temperature = from.temperature;
  to.top_k = from.top_k;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.repetition_penalty = from.repetition_penalty;
  to.presence_penalty = from.presence_penalty;
  to.frequency_penalty = from.frequency_penalty;
  to.penalty_window = from.penalty_window;
  to.seed = from.seed;
  const auto tokens = array("bias_tokens", from.bias_tokens, from.bias_count);
  const auto values = array("bias_values", from.bias_values, from.bias_count);
  for (std::size_t i = 0; i < tokens.size(); ++i) to.logit_bias.emplace_back(tokens[i], values[i]);
  return to;
}

std::optional<Grammar> grammar_of(const augur_request& from) {
  if (from.grammar == nullptr) {
    if (from.grammar_kind != nullptr) throw Error(refused("grammar_kind"), "grammar_kind goes with grammar");
    return std::nullopt;
  }
  const char* const kind = from.grammar_kind == nullptr ? "json-schema" : from.grammar_kind;
  return Grammar{
      .kind = parse_word<GrammarKind>("grammar_kind", kind), .text = from.grammar, .field = "grammar"};
}

ThoughtOptions thoughts_of(const augur_thoughts* given) {
  const augur_thoughts from = complete(given, augur_thoughts_default(), "augur_thoughts");
  return {.begin = text_or_empty(from.begin),
          .end = text_or_empty(from.end),
          .again = text_or_empty(from.again),
          .begun = from.begun != 0,
          .most_tokens = from.most_tokens,
          .written_end = text_or_empty(from.written_end),
          .choice = text_or_empty(from.choice)};
}

}  // namespace

Asked asked_by(const augur_request* given) {
  const augur_request from = complete_request(given);
  Asked asked;
  Request& to = asked.request;
  set_prompt(from, to);
  to.tools = text_or_empty(from.tools);
  to.template_kwargs = text_or_empty(from.template_kwargs);
  to.chat_end = numbered("chat_end", from.chat_end, ChatEnd::Continue);
  to.max_tokens = from.max_tokens;
  for (const char* stop : array("stop", from.stop, from.stop_count)) to.stop.push_back(text_or_empty(stop));
  to.ignore_eos = from.ignore_eos != 0;
  to.tpot_ms = from.tpot_ms;
  to.cache_prompt = from.cache_prompt != 0;
  to.cache_salt = text_or_empty(from.cache_salt);
  to.show_special = from.show_special != 0;
  const auto shown = array("shown_tokens", from.shown_tokens, from.shown_token_count);
  to.shown_tokens.assign(shown.begin(), shown.end());
  to.logprobs = from.logprobs;
  to.sampled_logprobs = from.sampled_logprobs != 0;
  to.prompt_logprobs = from.prompt_logprobs != 0;
  to.sampling = sampling_of(from);
  to.grammar = grammar_of(from);
  if (from.thoughts != nullptr) to.thoughts = thoughts_of(from.thoughts);
  if (from.speculation != nullptr) to.speculation = SpeculationPlan::parse(from.speculation);
  if (from.cancel != nullptr) {
    asked.cancel = held(from.cancel);
    to.cancel = asked.cancel.get();
  }
  if (from.logits_processor != nullptr)
    to.logits_processors.push_back(logits_processor(from.logits_processor, from.logits_user));
  asked.on_event = event_callback(from.on_event, from.callback_user);
  to.on_prefill = prefill_callback(from.on_prefill, from.callback_user);
  to.on_round = round_callback(from.on_round, from.callback_user);
  return asked;
}

TokenCallback token_callback(augur_token_callback on_token, void* user, TokenCallback on_event) {
  if (on_token == nullptr) return on_event;
  return [=](const TokenEvent& event) {
    const bool go_on = on_token(event.text.data(), event.text.size(), event.token, user) != 0;
    return (!on_event || on_event(event)) && go_on;
  };
}

}  // namespace augur::c_api

using namespace augur::c_api;

void augur_request_init(augur_request* request, size_t size) {
  const augur::SamplingOptions sampling;
  augur_request out{};
  out.max_tokens = -1;
  out.top_p = sampling.top_p;
  out.repetition_penalty = sampling.repetition_penalty;
  out.penalty_window = sampling.penalty_window;
  out.cache_prompt = 1;
  out.logprobs = -1;
  write_defaults(out, request, size);
}

void augur_thoughts_init(augur_thoughts* thoughts, size_t size) {
  augur_thoughts out{};
  out.most_tokens = -1;
  write_defaults(out, thoughts, size);
}
