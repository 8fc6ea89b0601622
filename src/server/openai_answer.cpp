#include "server/openai_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "server/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

std::string random_id(OpenAiEndpoint endpoint) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}{:08x}",
                     endpoint == OpenAiEndpoint::ChatCompletions ? "chatcmpl" : "cmpl", random(), random(),
                     random());
}

/// What was read, written and drafted; the figures of speculation under vLLM's names.
ordered_json usage_of(const std::vector<Result>& results) {
  const std::int64_t prompt = results.front().prompt_tokens;
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

OpenAiAnswer::OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request, std::string model,
                           std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(std::move(exchange), request.stream, request.choices),
      endpoint_(endpoint),
      stream_usage_(request.stream_usage),
      model_(std::move(model)),
      id_(random_id(endpoint)),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      begun_(static_cast<std::size_t>(request.choices)) {}

void OpenAiAnswer::take(int index, const TokenEvent& event) {
  if (!event.text.empty()) send_chunk(index, event.text, nullptr);
}

void OpenAiAnswer::choice_ended(int index, const Result& result) {
  if (streamed()) send_chunk(index, "", to_string(result.finish_reason).data());
}

ordered_json OpenAiAnswer::frame(bool chunk) const {
  const char* const object = endpoint_ == OpenAiEndpoint::Completions ? "text_completion"
                             : chunk                                  ? "chat.completion.chunk"
                                                                      : "chat.completion";
  return {{"id", id_},
          {"object", object},
          {"created", created_},
          {"model", model_},
          {"system_fingerprint", fmt::format("augur-{}", version())},
          {"choices", ordered_json::array()}};
}

void OpenAiAnswer::send_chunk(int index, std::string_view text, const char* finish_reason) {
  ordered_json choice = {{"index", index}};
  if (endpoint_ == OpenAiEndpoint::Completions) {
    choice["text"] = text;
  } else {
    ordered_json delta = ordered_json::object();
    if (!begun_[static_cast<std::size_t>(index)]) delta["role"] = "assistant";
    begun_[static_cast<std::size_t>(index)] = true;
    if (finish_reason == nullptr) delta["content"] = text;
    choice["delta"] = std::move(delta);
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = finish_reason == nullptr ? ordered_json() : ordered_json(finish_reason);
  ordered_json chunk = frame(true);
  chunk["choices"].push_back(std::move(choice));
  exchange().event(text_of(chunk));
}

void OpenAiAnswer::finish(const std::vector<Result>& results) {
  if (streamed()) {
    if (stream_usage_) {
      ordered_json chunk = frame(true);
      chunk["usage"] = usage_of(results);
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
      choice["text"] = results[i].text;
    } else {
      choice["message"] = {{"role", "assistant"}, {"content", results[i].text}};
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = to_string(results[i].finish_reason);
    body["choices"].push_back(std::move(choice));
  }
  body["usage"] = usage_of(results);
  exchange().answer(200, text_of(body));
}

}  // namespace augur
