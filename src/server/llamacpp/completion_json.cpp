#include "server/llamacpp/completion_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/answers/logprobs_json.h"
#include "server/answers/timings_json.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

const char* stop_type(const Result& result) {
  if (result.finish_reason == FinishReason::Length) return "limit";
  if (result.finish_reason != FinishReason::Stop) return "none";
  return result.stop_string.empty() ? "eos" : "word";
}

/// Null is minus infinity, which JSON has not.
ordered_json bias_entry(TokenId token, float bias) {
  return {{"token", token}, {"bias", std::isinf(bias) ? ordered_json() : ordered_json(bias)}};
}

}  // namespace

ordered_json generation_settings(const Request& request, bool stream, const ModelInfo& model) {
  const SamplingOptions& sampling = request.sampling;
  ordered_json bias = ordered_json::array();
  for (const auto& [token, value] : sampling.logit_bias) bias.push_back(bias_entry(token, value));
  if (request.ignore_eos) {
    for (const TokenId token : model.end_tokens) bias.push_back(bias_entry(token, -INFINITY));
  }
  return {{"n_predict", request.max_tokens},
          {"seed", sampling.seed},
          {"temperature", sampling.temperature},
          {"dynatemp_range", 0.0},
          {"dynatemp_exponent", 1.0},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"top_n_sigma", -1.0},
          {"xtc_probability", 0.0},
          {"xtc_threshold", 0.1},
          {"typical_p", 1.0},
          {"repeat_last_n", sampling.penalty_window},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"dry_multiplier", 0.0},
          {"mirostat", 0},
          {"adaptive_target", -1.0},
          {"adaptive_decay", 0.9},
          {"stop", request.stop},
          {"max_tokens", request.max_tokens},
          {"n_keep", 0},
          {"n_discard", 0},
          {"ignore_eos", request.ignore_eos},
          {"stream", stream},
          {"logit_bias", std::move(bias)},
          {"n_probs", std::max(0, request.logprobs)},
          {"min_keep", 0},
          {"post_sampling_probs", request.sampled_logprobs},
          {"lora", ordered_json::array()},
          {"samplers", {"penalties", "temperature", "top_k", "top_p", "min_p"}},
          {"speculative", request.speculation ? to_string(*request.speculation) : "default"}};
}

ordered_json completion_json(const Engine& engine, const CompletionParts& parts) {
  const Result& result = parts.result;
  const bool shows_tokens = parts.has_text && parts.return_tokens;
  const auto written = static_cast<std::int64_t>(result.tokens.size());
  const std::int64_t length = result.prompt_tokens + written;
  const bool limited = parts.request.max_tokens >= 0 && written >= parts.request.max_tokens;
  ordered_json body = {
      {"index", parts.index},
      {"content", parts.has_text ? result.text : ""},
      {"tokens", shows_tokens ? ordered_json(result.tokens) : ordered_json::array()},
      {"id_slot", parts.slot},
      {"stop", true},
      {"model", parts.model},
      {"tokens_predicted", written},
      {"tokens_evaluated", result.prompt_tokens},
      {"generation_settings", generation_settings(parts.request, parts.stream, engine.info())},
      {"prompt", parts.prompt},
      {"has_new_line", result.text.find('\n') != std::string::npos},
      // The context is full before the text had ended.
      {"truncated",
       result.finish_reason == FinishReason::Length && !limited && length >= engine.info().context},
      {"stop_type", stop_type(result)},
      {"stopping_word", result.stop_string},
      {"tokens_cached", length},
      {"timings", timings_json(timings_of({&result, 1}))}};
  if (parts.has_text && parts.request.logprobs >= 0) {
    body["completion_probabilities"] =
        llamacpp_logprobs(engine, result.tokens, result.logprobs, parts.request.sampled_logprobs);
  }
  return body;
}

}  // namespace augur
