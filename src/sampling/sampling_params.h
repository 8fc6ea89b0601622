#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "base/types.h"

namespace augur {

/// How tokens are drawn. The chain is applied in this order: logit_bias, penalties, temperature, top_k,
/// top_p, min_p. The defaults change nothing and are greedy.
struct SamplingParams {
  float temperature = 0.0f;  ///< 0: greedy (argmax, the lowest id among equals); otherwise at least 1e-4
  int top_k = 0;             ///< keep the k most probable; <= 0: off
  float top_p = 1.0f;        ///< keep the fewest most probable that together reach top_p; 1: off
  float min_p = 0.0f;        ///< keep those at least min_p times as probable as the most probable; 0: off
  /// For tokens among the last repeat_last_n: positive logits are divided, others multiplied by it; 1: off.
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;   ///< subtracted once from such a token's logit
  float frequency_penalty = 0.0f;  ///< subtracted for each of its occurrences
  int repeat_last_n = 64;          ///< tokens the penalties look at (prompt included); 0: none, -1: all
  /// Added to the logits; -infinity forbids a token. A token named twice gets both.
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::uint64_t seed = 0;

  bool greedy() const { return temperature == 0.0f; }
  bool filters() const { return top_k > 0 || top_p < 1.0f || min_p > 0.0f; }
  bool penalises() const {
    return repeat_last_n != 0 &&
           (repetition_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f);
  }

  /// The logit of a token that occurs `count` times among the last repeat_last_n, count >= 1.
  float penalised(float logit, int count) const {
    logit = logit > 0.0f ? logit / repetition_penalty : logit * repetition_penalty;
    return logit - (presence_penalty + frequency_penalty * static_cast<float>(count));
  }

  /// Error naming the first field that is out of range. `vocab_size` bounds the ids in logit_bias.
  void validate(std::int64_t vocab_size) const;
};

}  // namespace augur
