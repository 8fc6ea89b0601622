#include "server/openai_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "server/json_answers.h"
#include "server/logprobs_json.h"
#include "server/speculation_json.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

std::string random_id(OpenAiEndpoint endpoint) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}{:08x}",
                     endpoint == OpenAiEndpoint::ChatCompletions ? "chatcmpl" : "cmpl", random(), random(),
                     random());
}

/// What was read, written and drafted; the figures of speculation under vLLM's names. A prompt counts once
/// for its `choices` results.
ordered_json usage_of(const std::vector<Result>& results, int choices) {
  std::int64_t prompt = 0;
  std::int64_t cached = 0;
  for (std::size_t i = 0; i < results.size(); i += static_cast<std::size_t>(choices)) {
    prompt += results[i].prompt_tokens;
    cached += results[i].cached_tokens;
  }
  std::int64_t completion = 0;
  SpeculationStatistics sum;
  for (const Result& r : results) {
    const SpeculationStatistics& s = r.speculation;
    completion += static_cast<std::int64_t>(r.tokens.size());
    sum.type = s.type;
    sum.calls += s.calls;
    sum.verified_tokens += s.verified_tokens;
    sum.drafted_tokens += s.drafted_tokens;
    sum.accepted_tokens += s.accepted_tokens;
    sum.accepted_per_position.resize(
        std::max(sum.accepted_per_position.size(), s.accepted_per_position.size()));
    for (std::size_t i = 0; i < s.accepted_per_position.size(); ++i) {
      sum.accepted_per_position[i] += s.accepted_per_position[i];
    }
  }
  const double length = sum.calls > 0 ? static_cast<double>(completion) / static_cast<double>(sum.calls) : 0;
  return {{"prompt_tokens", prompt},
          {"completion_tokens", completion},
          {"total_tokens", prompt + completion},
          {"prompt_tokens_details", {{"cached_tokens", cached}}},
          {"speculation",
           {{"type", sum.type},
            {"num_drafts", sum.calls},
            {"num_verified_tokens", sum.verified_tokens},
            {"num_draft_tokens", sum.drafted_tokens},
            {"num_accepted_tokens", sum.accepted_tokens},
            {"num_accepted_tokens_per_pos", sum.accepted_per_position},
            {"mean_accepted_length", length}}}};
}

}  // namespace

OpenAiAnswer::OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request,
                           std::vector<EchoedPrompt> echoes, const Served& served,
                           std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(std::move(exchange), request.stream,
                       request.choices * static_cast<int>(request.requests.size())),
      endpoint_(endpoint),
      stream_usage_(request.stream_usage),
      stream_speculation_(request.stream_speculation),
      choices_(request.choices),
      logprobs_(request.requests.front().logprobs >= 0),
      echoes_(std::move(echoes)),
      engine_(served.engine),
      model_(served.options.model),
      id_(random_id(endpoint)),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      begun_(request.requests.size() * static_cast<std::size_t>(request.choices)),
      characters_(begun_.size()) {}

void OpenAiAnswer::take(int index, const TokenEvent& event) {
  ordered_json speculation;
  if (stream_speculation_ && event.token >= 0) speculation["token"] = token_json(event);
  if (!event.text.empty() || event.logprobs != nullptr || !speculation.is_null()) {
    send_chunk(index, event, nullptr, std::move(speculation));
  }
}

void OpenAiAnswer::take_round(int index, const DraftRound& round) {
  send_chunk(index, {}, nullptr, {{"round", round_json(engine_, round)}});
}

void OpenAiAnswer::choice_ended(int index, const Result& result) {
  if (streamed()) send_chunk(index, {}, to_string(result.finish_reason).data(), nullptr);
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

void OpenAiAnswer::send_chunk(int index, const TokenEvent& event, const char* finish_reason,
                              ordered_json speculation) {
  const auto i = static_cast<std::size_t>(index);
  const bool first = !begun_[i];
  begun_[i] = true;
  ordered_json choice = {{"index", index}};
  ordered_json logprobs;
  if (endpoint_ == OpenAiEndpoint::Completions) {
    const EchoedPrompt* const echo = first ? echo_of(i) : nullptr;
    choice["text"] = echo == nullptr ? std::string(event.text) : echo->text + std::string(event.text);
    if (event.logprobs != nullptr) {
      logprobs = completion_logprobs(engine_, {&event.token, 1}, {event.logprobs, 1}, characters_[i]);
    }
  } else {
    ordered_json delta = ordered_json::object();
    if (first) delta["role"] = "assistant";
    if (finish_reason == nullptr) delta["content"] = event.text;
    choice["delta"] = std::move(delta);
    if (event.logprobs != nullptr) {
      logprobs = chat_logprobs(engine_, {&event.token, 1}, {event.logprobs, 1});
    }
  }
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = finish_reason == nullptr ? ordered_json() : ordered_json(finish_reason);
  if (!speculation.is_null()) choice["speculation"] = std::move(speculation);
  ordered_json chunk = frame(true);
  chunk["choices"].push_back(std::move(choice));
  exchange().event(text_of(chunk));
}

void OpenAiAnswer::finish(const std::vector<Result>& results) {
  if (streamed()) {
    if (stream_usage_) {
      ordered_json chunk = frame(true);
      chunk["usage"] = usage_of(results, choices_);
      exchange().event(text_of(chunk));
    }
    exchange().event("[DONE]");
    exchange().end();
    return;
  }
  ordered_json body = frame(false);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ordered_json choice = {{"index", i}};
    if (endpoint_ == OpenAiEndpoint::Completions) {
      const EchoedPrompt* const echo = echo_of(i);
      choice["text"] = echo == nullptr ? results[i].text : echo->text + results[i].text;
    } else {
      choice["message"] = {{"role", "assistant"}, {"content", results[i].text}};
    }
    choice["logprobs"] = logprobs_of(i, results[i]);
    choice["finish_reason"] = to_string(results[i].finish_reason);
    body["choices"].push_back(std::move(choice));
  }
  body["usage"] = usage_of(results, choices_);
  exchange().answer(200, text_of(body));
}

}  // namespace augur
