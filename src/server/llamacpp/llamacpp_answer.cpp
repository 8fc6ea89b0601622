#include "server/llamacpp/llamacpp_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/answers/logprobs_json.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

double over(double a, double b) {
  return b > 0 ? a / b : 0;
}

ordered_json timings_of(const Result& r) {
  const auto read = static_cast<double>(r.prompt_tokens - r.cached_tokens);
  const auto written = static_cast<double>(r.tokens.size());
  return {{"cache_n", r.cached_tokens},
          {"prompt_n", r.prompt_tokens - r.cached_tokens},
          {"prompt_ms", r.prompt_ms},
          {"prompt_per_token_ms", over(r.prompt_ms, read)},
          {"prompt_per_second", over(1e3 * read, r.prompt_ms)},
          {"predicted_n", r.tokens.size()},
          {"predicted_ms", r.decode_ms},
          {"predicted_per_token_ms", over(r.decode_ms, written)},
          {"predicted_per_second", over(1e3 * written, r.decode_ms)},
          {"draft_n", r.speculation.drafted_tokens},
          {"draft_n_accepted", r.speculation.accepted_tokens}};
}

const char* stop_type(const Result& result) {
  if (result.finish_reason == FinishReason::Length) return "limit";
  if (result.finish_reason != FinishReason::Stop) return "none";
  return result.stop_string.empty() ? "eos" : "word";
}

/// Of `body` what is at these paths, under the whole path's name; what there is not is left out.
ordered_json picked(const ordered_json& body, const std::vector<std::string>& paths) {
  ordered_json to = ordered_json::object();
  for (const std::string& path : paths) {
    const ordered_json* at = &body;
    for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const auto found =
          at->is_object() ? at->find(path.substr(begin, end - begin)) : ordered_json::const_iterator();
      at = at->is_object() && found != at->end() ? &*found : nullptr;
      begin = end + 1;
    }
    if (at != nullptr) to[path] = *at;
  }
  return to;
}

}  // namespace

ordered_json generation_settings(const Request& request, bool stream) {
  const SamplingOptions& sampling = request.sampling;
  ordered_json bias = ordered_json::array();
  for (const auto& [token, value] : sampling.logit_bias) bias.push_back({{"token", token}, {"bias", value}});
  return {{"n_predict", request.max_tokens},
          {"seed", sampling.seed},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_last_n", sampling.penalty_window},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"stop", request.stop},
          {"max_tokens", request.max_tokens},
          {"ignore_eos", request.ignore_eos},
          {"stream", stream},
          {"logit_bias", std::move(bias)},
          {"n_probs", std::max(0, request.logprobs)},
          {"samplers", {"penalties", "temperature", "top_k", "top_p", "min_p"}},
          {"speculative", request.speculation ? to_string(*request.speculation) : "default"}};
}

LlamaCppAnswer::LlamaCppAnswer(LlamaCppRequest request, const Served& served,
                               std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(served, std::move(exchange), request.stream,
                       static_cast<int>(request.requests.size()) * request.choices),
      request_(std::move(request)),
      engine_(served.engine),
      model_(served.options.model),
      written_(request_.requests.size() * static_cast<std::size_t>(request_.choices)) {}

void LlamaCppAnswer::take(int index, const TokenEvent& event) {
  std::int64_t& written = written_[static_cast<std::size_t>(index)];
  if (event.token >= 0) ++written;
  ordered_json chunk = {{"index", index},
                        {"content", event.text},
                        {"tokens", ordered_json::array()},
                        {"stop", false},
                        {"id_slot", -1},
                        {"tokens_predicted", written},
                        {"tokens_evaluated", request_.requests[request_of(index)].prompt_tokens.size()}};
  if (event.token >= 0) chunk["tokens"].push_back(event.token);
  if (event.logprobs != nullptr) {
    chunk["completion_probabilities"] = llamacpp_logprobs(engine_, {&event.token, 1}, {event.logprobs, 1});
  }
  exchange().send_event(text_of(chunk));
}

ordered_json LlamaCppAnswer::body_of(int index, const Result& result) const {
  const bool has_text = !streamed();
  Request request = request_.requests[request_of(index)];
  request.sampling.seed += static_cast<std::uint64_t>(index % request_.choices);
  ordered_json body = {
      {"index", index},
      {"content", has_text ? result.text : ""},
      {"tokens", has_text && request_.return_tokens ? ordered_json(result.tokens) : ordered_json::array()},
      {"id_slot", -1},
      {"stop", true},
      {"model", model_},
      {"tokens_predicted", result.tokens.size()},
      {"tokens_evaluated", result.prompt_tokens},
      {"generation_settings", generation_settings(request, request_.stream)},
      {"prompt", request_.prompts[request_of(index)]},
      {"has_new_line", result.text.find('\n') != std::string::npos},
      {"truncated", false},
      {"stop_type", stop_type(result)},
      {"stopping_word", result.stop_string},
      {"tokens_cached", result.prompt_tokens + static_cast<std::int64_t>(result.tokens.size())},
      {"timings", timings_of(result)}};
  if (has_text && request.logprobs >= 0) {
    body["completion_probabilities"] = llamacpp_logprobs(engine_, result.tokens, result.logprobs);
  }
  return request_.response_fields.empty() ? body : picked(body, request_.response_fields);
}

void LlamaCppAnswer::choice_ended(int index, const Result& result) {
  if (streamed()) exchange().send_event(text_of(body_of(index, result)));
}

void LlamaCppAnswer::finish(const std::vector<Result>& results) {
  if (streamed()) return exchange().end_stream();
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < results.size(); ++i) all.push_back(body_of(static_cast<int>(i), results[i]));
  exchange().respond(200, text_of(all.size() == 1 ? all.front() : all));
}

}  // namespace augur
