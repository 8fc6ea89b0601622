#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "augur/sampling_options.h"

namespace augur {
inline namespace abi1 {

// What the model makes of given texts, without generating: Engine::logits(), hidden_states(), embed(),
// score(), score_many().

/// Rows of logits of consecutive tokens: `rows` is [count, vocab], row i belongs to token `first` + i and
/// tells what comes after it. Valid during the call.
using LogitsCallback = std::function<void(std::int64_t first, std::span<const float> rows)>;

/// Which of a text's states stand for it. Last: that of its last token. Mean: the mean of all tokens' states.
enum class Pooling : std::uint8_t { Last, Mean };

struct EmbedOptions {
  Pooling pooling = Pooling::Last;
  bool normalised = true;                     ///< divided by its Euclidean length
  const std::atomic<bool>* cancel = nullptr;  ///< as Request::cancel, but it ends the call with an Error
};

/// A text to be scored.
struct ScoredText {
  std::vector<TokenId> tokens;
  /// Index of the first token whose log-probability is wanted, at least 1: the tokens before are what it
  /// continues.
  std::int64_t from = 1;
};

struct TextScore {
  /// [tokens.size() - from] of tokens[from + i] after those before it, by the model's own distribution: the
  /// bits of Result::prompt_logprobs.
  std::vector<float> logprobs;
  double sum = 0;  ///< of `logprobs`, added in their order
  /// Whether every one of these tokens has the largest logit at its place (the lowest id among equals), so
  /// that greedy decoding without further options would have written it.
  bool greedy = true;
};

/// Called with every text's score as soon as it is known, in the order of the texts.
using ScoreCallback = std::function<void(std::size_t index, TextScore score)>;

}  // namespace abi1
}  // namespace augur
