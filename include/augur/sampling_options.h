#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace augur {
inline namespace abi1 {

/// A token of the model's vocabulary.
using TokenId = std::int32_t;

/// How the next token is drawn: logit bias, penalties, temperature, top-k, top-p, min-p, in this order, then
/// one draw with noise that depends on (seed, absolute position, token) only. The defaults are greedy.
struct SamplingOptions {
  double temperature = 0.0;  ///< 0: greedy (the lowest id among equals); otherwise at least 1e-4
  int top_k = 0;             ///< keep the k most probable; <= 0: off
  double top_p = 1.0;        ///< keep the fewest most probable that together reach top_p; 1: off
  double min_p = 0.0;        ///< keep those at least min_p times as probable as the most probable; 0: off
  /// For tokens among the last penalty_window: positive logits are divided, others multiplied by it; 1: off.
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;   ///< subtracted once from such a token's logit
  double frequency_penalty = 0.0;  ///< subtracted for each of its occurrences
  int penalty_window = 64;  ///< last tokens that the penalties look at (prompt included); 0: none, -1: all
  /// Added to the logits; -infinity forbids a token. A token named twice gets both.
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::uint64_t seed = 0;
};

}  // namespace abi1
}  // namespace augur
