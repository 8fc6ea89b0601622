#pragma once
#include <cstdint>
#include <optional>

#include "augur/options.h"

namespace augur {

/// What requests get that do not say: the server's flags. Nothing: what their API has.
struct RequestDefaults {
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<int> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<std::uint64_t> seed;
  /// A chat that ends with the assistant's message is to go on from there.
  bool prefill_assistant = true;
  bool verbose = false;  ///< answers have `__verbose`
  bool thoughts_as_content = false;
  std::int64_t most_thought_tokens = -1;  ///< < 0: any number

  /// `to` as an API has it, with these over it.
  void apply(Request& to) const {
    if (max_tokens) to.max_tokens = *max_tokens;
    SamplingOptions& sampling = to.sampling;
    if (temperature) sampling.temperature = *temperature;
    if (top_k) sampling.top_k = *top_k;
    if (top_p) sampling.top_p = *top_p;
    if (min_p) sampling.min_p = *min_p;
    if (repetition_penalty) sampling.repetition_penalty = *repetition_penalty;
    if (seed) sampling.seed = *seed;
  }
};

}  // namespace augur
