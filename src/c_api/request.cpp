#include "c_api/request.h"

#include "base/words.h"
#include "c_api/structs.h"

namespace augur::c_api {

augur::TokenCallback token_callback(augur_token_callback on_token, void* user) {
  if (on_token == nullptr) return {};
  return [=](const augur::TokenEvent& event) {
    return on_token(event.text.data(), event.text.size(), event.token, user) != 0;
  };
}

augur::Request request_of(const augur_request& from) {
  augur::Request to;
  const auto tokens = array("prompt_tokens", from.prompt_tokens, from.prompt_token_count);
  const auto messages = array("messages", from.messages, from.message_count);
  if (from.system != nullptr && (from.chat == 0 || !tokens.empty() || !messages.empty()))
    throw augur::Error(augur::refused("system"),
                       "system goes with chat and prompt: expected it as the first of messages");
  if (from.prompt != nullptr || (tokens.empty() && messages.empty())) {
    if (!tokens.empty() || !messages.empty())
      throw augur::Error(augur::refused("prompt"),
                         "a request has a prompt and prompt_tokens or messages: expected one of them");
    if (from.chat != 0) {
      if (from.system != nullptr) to.messages.push_back({"system", from.system});
      to.messages.push_back({"user", text_or_empty(from.prompt)});
    } else {
      to.prompt = text_or_empty(from.prompt);
    }
  }
  to.prompt_tokens.assign(tokens.begin(), tokens.end());
  for (const augur_message& message : messages)
    to.messages.push_back({text_or_empty(message.role), text_or_empty(message.content)});
  to.max_tokens = from.max_tokens;
  for (const char* stop : array("stop", from.stop, from.stop_count)) to.stop.push_back(text_or_empty(stop));
  to.ignore_eos = from.ignore_eos != 0;
  to.sampling.temperature = from.temperature;
  to.sampling.top_k = from.top_k;
  to.sampling.top_p = from.top_p;
  to.sampling.min_p = from.min_p;
  to.sampling.repetition_penalty = from.repetition_penalty;
  to.sampling.presence_penalty = from.presence_penalty;
  to.sampling.frequency_penalty = from.frequency_penalty;
  to.sampling.penalty_window = from.penalty_window;
  to.sampling.seed = from.seed;
  if (from.grammar != nullptr) {
    const char* const kind = from.grammar_kind == nullptr ? "json-schema" : from.grammar_kind;
    to.grammar = augur::Grammar{.kind = augur::parse_word<augur::GrammarKind>("grammar_kind", kind),
                                .text = from.grammar,
                                .field = "grammar"};
  } else if (from.grammar_kind != nullptr) {
    throw augur::Error(augur::refused("grammar_kind"), "grammar_kind goes with grammar");
  }
  return to;
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
  give(out, request, size);
}
