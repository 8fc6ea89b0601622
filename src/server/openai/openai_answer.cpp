#include "server/openai/openai_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/answers/logprobs_json.h"
#include "server/answers/parsed_answer.h"
#include "server/answers/speculation_json.h"
#include "server/llamacpp/completion_json.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What was read, written and drafted; the figures of speculation under vLLM's names. A prompt counts once
/// for its `choices` results. `thoughts`: tokens of the answers that are.
ordered_json usage_of(const std::vector<Result>& results, int choices, std::int64_t thoughts) {
  std::int64_t prompt = 0;
  std::int64_t cached = 0;
  for (std::size_t i = 0; i < results.size(); i += static_cast<std::size_t>(choices)) {
    prompt += results[i].prompt_tokens;
    cached += results[i].cached_tokens;
  }
  std::int64_t completion = 0;
  SpeculationStatistics sum;
  for (const Result& r : results) {
    completion += static_cast<std::int64_t>(r.tokens.size());
    sum.type = r.speculation.type;
    sum.add(r.speculation);
  }
  const double length = sum.calls > 0 ? static_cast<double>(completion) / static_cast<double>(sum.calls) : 0;
  return {{"prompt_tokens", prompt},
          {"completion_tokens", completion},
          {"total_tokens", prompt + completion},
          {"prompt_tokens_details", {{"cached_tokens", cached}}},
          {"completion_tokens_details", {{"reasoning_tokens", thoughts}}},
          {"speculation",
           {{"type", sum.type},
            {"num_drafts", sum.calls},
            {"num_verified_tokens", sum.verified_tokens},
            {"num_draft_tokens", sum.drafted_tokens},
            {"num_accepted_tokens", sum.accepted_tokens},
            {"num_accepted_tokens_per_pos", sum.accepted_per_position},
            {"mean_accepted_length", length}}}};
}

const char* finish_reason(const Result& result, std::size_t calls) {
  const bool called = calls > 0 && result.finish_reason != FinishReason::Length;
  return called ? "tool_calls" : to_string(result.finish_reason).data();
}

/// Under llama.cpp's name, which is DeepSeek's, and vLLM's.
ordered_json thoughts_json(std::string_view text) {
  return {{"reasoning_content", text}, {"reasoning", text}};
}

ordered_json message_of(const ParsedAnswer& answer) {
  ordered_json message = {{"role", "assistant"}, {"content", answer.content}};
  if (!answer.thoughts.empty()) message.update(thoughts_json(answer.thoughts));
  if (answer.calls.empty()) return message;
  if (answer.content.empty()) message["content"] = nullptr;
  for (const ToolCall& call : answer.calls) {
    message["tool_calls"].push_back({{"id", call.id},
                                     {"type", "function"},
                                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return message;
}

}  // namespace

OpenAiAnswer::OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request,
                           std::vector<EchoedPrompt> echoes, AnswerParser parser, const Served& served,
                           std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(served, std::move(exchange), request.stream,
                       request.choices * static_cast<int>(request.requests.size()), request.wishes),
      endpoint_(endpoint),
      stream_usage_(request.stream_usage),
      stream_speculation_(request.stream_speculation),
      choices_(request.choices),
      logprobs_(request.requests.front().logprobs >= 0),
      requests_(request.wishes.verbose ? request.requests : std::vector<Request>()),
      echoes_(std::move(echoes)),
      engine_(served.engine),
      model_(served.options.model),
      id_(random_id(endpoint == OpenAiEndpoint::ChatCompletions ? "chatcmpl-" : "cmpl-")),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      parser_(std::move(parser)),
      begun_(request.requests.size() * static_cast<std::size_t>(request.choices)),
      characters_(begun_.size()) {
  if (request.stream) parsers_.assign(begun_.size(), parser_);
}

void OpenAiAnswer::take_token(int index, const TokenEvent& event) {
  if (stream_speculation_ && event.token >= 0) speculation_["token"] = token_json(event);
  const auto i = static_cast<std::size_t>(index);
  ordered_json logprobs = logprobs_of(i, event);
  send_pieces(index, parsers_[i].read_text(event.text), std::move(logprobs));
  if (!speculation_.is_null()) send_text(index, "", nullptr);  // its text is held back
}

void OpenAiAnswer::take_round(int index, const DraftRound& round) {
  speculation_["round"] = round_json(engine_, round);
  send_text(index, "", nullptr);
}

void OpenAiAnswer::take_progress(int index) {
  const bool chat = endpoint_ == OpenAiEndpoint::ChatCompletions;
  if (chat) begin_chat(index);
  ordered_json choice = {{"index", index}};
  if (chat) choice["delta"] = ordered_json::object();
  if (!chat) choice["text"] = "";
  send_choice(std::move(choice), nullptr, nullptr, {{"prompt_progress", progress_json(index)}});
}

void OpenAiAnswer::choice_ended(int index, const Result& result) {
  if (!streamed()) return;
  AnswerParser& parser = parsers_[static_cast<std::size_t>(index)];
  send_pieces(index, parser.read_end(), nullptr);
  const char* const reason = finish_reason(result, static_cast<std::size_t>(parser.calls()));
  ordered_json choice = {{"index", index}};
  if (endpoint_ == OpenAiEndpoint::ChatCompletions) {
    begin_chat(index);
    choice["delta"] = ordered_json::object();
  } else {
    choice["text"] = echo_once(static_cast<std::size_t>(index));
  }
  ordered_json extra = {{"timings", timings_json(timings_of({&result, 1}))}};
  if (wishes().verbose) extra["__verbose"] = verbose_of(index, result);
  send_choice(std::move(choice), nullptr, reason, extra);
}

ordered_json OpenAiAnswer::verbose_of(int index, const Result& result) const {
  const Request request = request_of_choice(requests_, choices_, index);
  const std::string prompt = engine_.detokenize(request.prompt_tokens, true);
  return completion_json(engine_, {.request = request,
                                   .result = result,
                                   .prompt = prompt,
                                   .model = model_,
                                   .index = index,
                                   .slot = slot_of(index),
                                   .stream = streamed(),
                                   .has_text = !streamed(),
                                   .return_tokens = true});
}

ordered_json OpenAiAnswer::frame(bool chunk) const {
  const char* const object = endpoint_ == OpenAiEndpoint::Completions ? "text_completion"
                             : chunk                                  ? "chat.completion.chunk"
                                                                      : "chat.completion";
  return {{"id", id_},
          {"object", object},
          {"created", created_},
          {"model", model_},
          {"system_fingerprint", engine_.info().fingerprint},
          {"choices", ordered_json::array()}};
}

const EchoedPrompt* OpenAiAnswer::echo_of(std::size_t index) const {
  return echoes_.empty() ? nullptr : &echoes_[index / static_cast<std::size_t>(choices_)];
}

ordered_json OpenAiAnswer::logprobs_of(std::size_t index, const Result& result) const {
  if (!logprobs_) return nullptr;
  if (endpoint_ == OpenAiEndpoint::ChatCompletions)
    return chat_logprobs(engine_, result.tokens, result.logprobs);
  std::vector<TokenId> tokens;
  if (const EchoedPrompt* const echo = echo_of(index)) tokens = echo->tokens;
  std::vector<TokenLogprobs> logprobs = result.prompt_logprobs;
  tokens.insert(tokens.end(), result.tokens.begin(), result.tokens.end());
  logprobs.insert(logprobs.end(), result.logprobs.begin(), result.logprobs.end());
  std::int64_t offset = 0;
  return completion_logprobs(engine_, tokens, logprobs, offset);
}

ordered_json OpenAiAnswer::logprobs_of(std::size_t index, const TokenEvent& event) {
  if (event.logprobs == nullptr) return nullptr;
  const std::span<const TokenId> token(&event.token, 1);
  const std::span<const TokenLogprobs> logprobs(event.logprobs, 1);
  if (endpoint_ == OpenAiEndpoint::ChatCompletions) return chat_logprobs(engine_, token, logprobs);
  return completion_logprobs(engine_, token, logprobs, characters_[index]);
}

std::string OpenAiAnswer::echo_once(std::size_t index) {
  const EchoedPrompt* const echo = begun_[index] ? nullptr : echo_of(index);
  begun_[index] = true;
  return echo == nullptr ? std::string() : echo->text;
}

void OpenAiAnswer::send_text(int index, std::string_view text, ordered_json logprobs) {
  if (endpoint_ == OpenAiEndpoint::ChatCompletions) {
    return send_delta(index, {{"content", text}}, std::move(logprobs));
  }
  const std::string echo = echo_once(static_cast<std::size_t>(index));
  send_choice({{"index", index}, {"text", echo + std::string(text)}}, std::move(logprobs), nullptr);
}

void OpenAiAnswer::send_pieces(int index, const std::vector<AnswerPiece>& pieces, ordered_json logprobs) {
  // What is known of a token goes out with the first piece, or alone where its text is held back.
  for (const AnswerPiece& piece : pieces) {
    ordered_json known = std::exchange(logprobs, nullptr);
    if (piece.thought) {
      send_delta(index, thoughts_json(piece.text), std::move(known));
      continue;
    }
    if (piece.call < 0) {
      send_text(index, piece.text, std::move(known));
      continue;
    }
    ordered_json call = {{"index", piece.call}};
    if (!piece.name.empty()) {
      call["id"] = new_call_id();
      call["type"] = "function";
      call["function"]["name"] = piece.name;
    }
    call["function"]["arguments"] = piece.text;
    send_delta(index, {{"tool_calls", ordered_json::array({std::move(call)})}}, std::move(known));
  }
  if (logprobs.is_null()) return;
  if (endpoint_ == OpenAiEndpoint::Completions) return send_text(index, "", std::move(logprobs));
  send_delta(index, ordered_json::object(), std::move(logprobs));
}

void OpenAiAnswer::begin_chat(int index) {
  if (begun_[static_cast<std::size_t>(index)]) return;
  begun_[static_cast<std::size_t>(index)] = true;
  ordered_json chunk = frame(true);
  chunk["choices"].push_back({{"index", index},
                              {"delta", {{"role", "assistant"}, {"content", nullptr}}},
                              {"logprobs", nullptr},
                              {"finish_reason", nullptr}});
  exchange().send_event(text_of(chunk));
}

void OpenAiAnswer::send_delta(int index, ordered_json delta, ordered_json logprobs) {
  begin_chat(index);
  send_choice({{"index", index}, {"delta", std::move(delta)}}, std::move(logprobs), nullptr);
}

void OpenAiAnswer::send_choice(ordered_json choice, ordered_json logprobs, const char* finish_reason,
                               const ordered_json& extra) {
  const int index = choice["index"].get<int>();
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = finish_reason == nullptr ? ordered_json() : ordered_json(finish_reason);
  if (!speculation_.is_null()) choice["speculation"] = std::exchange(speculation_, nullptr);
  ordered_json chunk = frame(true);
  chunk["choices"].push_back(std::move(choice));
  if (wishes().timings) chunk["timings"] = timings_json(timings_so_far(index));
  chunk.update(extra);
  exchange().send_event(text_of(chunk));
}

std::int64_t OpenAiAnswer::thought_tokens(const std::vector<Result>& results) const {
  std::int64_t sum = 0;
  for (const Result& result : results) sum += count_thought_tokens(parser_, engine_, result.tokens);
  return sum;
}

void OpenAiAnswer::finish(const std::vector<Result>& results) {
  if (streamed()) {
    if (stream_usage_) {
      ordered_json chunk = frame(true);
      chunk["usage"] = usage_of(results, choices_, thought_tokens(results));
      chunk["timings"] = timings_json(timings_of(results));
      exchange().send_event(text_of(chunk));
    }
    exchange().send_event("[DONE]");
    exchange().end_stream();
    return;
  }
  ordered_json body = frame(false);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ordered_json choice = {{"index", i}};
    const ParsedAnswer answer = parse_answer(parser_, results[i].text);
    if (endpoint_ == OpenAiEndpoint::Completions) {
      const EchoedPrompt* const echo = echo_of(i);
      choice["text"] = echo == nullptr ? answer.content : echo->text + answer.content;
    } else {
      choice["message"] = message_of(answer);
    }
    choice["logprobs"] = logprobs_of(i, results[i]);
    choice["finish_reason"] = finish_reason(results[i], answer.calls.size());
    body["choices"].push_back(std::move(choice));
  }
  body["usage"] = usage_of(results, choices_, thought_tokens(results));
  body["timings"] = timings_json(timings_of(results));
  if (wishes().verbose) body["__verbose"] = verbose_of(0, results.front());
  exchange().respond(200, text_of(body));
}

}  // namespace augur
