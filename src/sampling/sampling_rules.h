#pragma once
#include <cstdint>

#include "augur/sampling_options.h"

namespace augur {

// What a request's SamplingOptions mean. Tokens are drawn by arithmetic in fp32: whoever computes with a
// setting takes it from here, rounded.

inline float temperature_of(const SamplingOptions& options) {
  return static_cast<float>(options.temperature);
}
inline float top_p_of(const SamplingOptions& options) {
  return static_cast<float>(options.top_p);
}
inline float min_p_of(const SamplingOptions& options) {
  return static_cast<float>(options.min_p);
}

/// Tokens are not drawn: the most probable one is taken.
inline bool greedy(const SamplingOptions& options) {
  return temperature_of(options) == 0.0f;
}
/// Some tokens' probability may become 0.
bool filters(const SamplingOptions& options);
/// Tokens that the text holds already count less, or more.
bool penalises(const SamplingOptions& options);

/// The logit of a token that occurs `count` times among the last penalty_window, count >= 1. Positive ones
/// are divided by the repetition penalty, others multiplied.
float penalised(const SamplingOptions& options, float logit, int count);

/// Error naming the first setting that is out of range. `vocab_size` bounds the ids in logit_bias.
void validate(const SamplingOptions& options, std::int64_t vocab_size);

}  // namespace augur
