#include "sampling/sampling_rules.h"

#include <cmath>

#include "base/error.h"

namespace augur {

bool filters(const SamplingOptions& options) {
  return options.top_k > 0 || top_p_of(options) < 1.0f || min_p_of(options) > 0.0f;
}

bool penalises(const SamplingOptions& options) {
  return options.penalty_window != 0 && (static_cast<float>(options.repetition_penalty) != 1.0f ||
                                         static_cast<float>(options.presence_penalty) != 0.0f ||
                                         static_cast<float>(options.frequency_penalty) != 0.0f);
}

float penalised(const SamplingOptions& options, float logit, int count) {
  const auto repetition = static_cast<float>(options.repetition_penalty);
  logit = logit > 0.0f ? logit / repetition : logit * repetition;
  return logit - (static_cast<float>(options.presence_penalty) +
                  static_cast<float>(options.frequency_penalty) * static_cast<float>(count));
}

void validate(const SamplingOptions& options, std::int64_t vocab_size) {
  const float temperature = temperature_of(options);
  const float top_p = top_p_of(options);
  const float min_p = min_p_of(options);
  const auto repetition_penalty = static_cast<float>(options.repetition_penalty);
  const auto presence_penalty = static_cast<float>(options.presence_penalty);
  const auto frequency_penalty = static_cast<float>(options.frequency_penalty);
  // Written so that NaN fails.
  if (!(temperature == 0.0f || (temperature >= 1e-4f && std::isfinite(temperature)))) {
    throw Error(refused("temperature"), "temperature: expected 0 (greedy) or at least 0.0001, found {}",
                temperature);
  }
  if (!(top_p > 0.0f && top_p <= 1.0f))
    throw Error(refused("top_p"), "top_p: expected 0 < top_p <= 1, found {}", top_p);
  if (!(min_p >= 0.0f && min_p <= 1.0f))
    throw Error(refused("min_p"), "min_p: expected 0 <= min_p <= 1, found {}", min_p);
  if (!(repetition_penalty > 0.0f && std::isfinite(repetition_penalty))) {
    throw Error(refused("repetition_penalty"), "repetition_penalty: expected a positive number, found {}",
                repetition_penalty);
  }
  if (!std::isfinite(presence_penalty)) {
    throw Error(refused("presence_penalty"), "presence_penalty: expected a finite number, found {}",
                presence_penalty);
  }
  if (!std::isfinite(frequency_penalty)) {
    throw Error(refused("frequency_penalty"), "frequency_penalty: expected a finite number, found {}",
                frequency_penalty);
  }
  if (options.penalty_window < -1) {
    throw Error(refused("penalty_window"), "repeat_last_n: expected -1 (all), 0 (none) or more, found {}",
                options.penalty_window);
  }
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || token >= vocab_size) {
      throw Error(refused("logit_bias"), "logit_bias: token {} is outside the vocabulary of {}", token,
                  vocab_size);
    }
    if (std::isnan(bias) || bias == INFINITY) {
      throw Error(refused("logit_bias"),
                  "logit_bias: token {}: expected a finite number or -infinity, found {}", token, bias);
    }
  }
}

}  // namespace augur
