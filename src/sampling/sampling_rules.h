#pragma once
#include <cstdint>

#include "augur/sampling_options.h"

namespace augur {

// How SamplingOptions are interpreted. Sampling computes in fp32, so settings are rounded to float here and
// used only in this form.

inline float temperature_of(const SamplingOptions& options) {
  return static_cast<float>(options.temperature);
}
inline float top_p_of(const SamplingOptions& options) {
  return static_cast<float>(options.top_p);
}
inline float min_p_of(const SamplingOptions& options) {
  return static_cast<float>(options.min_p);
}

/// Whether the most probable token is taken instead of a sampled one.
inline bool greedy(const SamplingOptions& options) {
  return temperature_of(options) == 0.0f;
}
/// Whether some tokens' probabilities may become 0.
bool filters(const SamplingOptions& options);
/// Whether tokens that the text contains already are made more or less likely.
bool penalises(const SamplingOptions& options);

/// The logit of a token that occurs `count` >= 1 times among the last penalty_window tokens. The repetition
/// penalty divides positive logits and multiplies others.
float penalised(const SamplingOptions& options, float logit, int count);

/// Throws Error that names the first setting out of range. `vocab_size` bounds the ids in logit_bias.
void validate(const SamplingOptions& options, std::int64_t vocab_size);

}  // namespace augur
