#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "augur/engine.h"

namespace augur {

// Log-probabilities in the forms of the APIs. Tokens are given with their own; where there are fewer of
// these, the first tokens have none (null). What is below -9999 is -9999, as in vLLM: JSON has no infinity.

/// Chat completions': {"content": [{"token", "logprob", "bytes", "top_logprobs"}, ...]}.
nlohmann::ordered_json chat_logprobs(const Engine& engine, std::span<const TokenId> tokens,
                                     std::span<const TokenLogprobs> logprobs);

/// Completions': {"tokens", "token_logprobs", "top_logprobs", "text_offset"}, lists of the same length.
/// `offset`: characters of the text before them; then, behind them. Tokens that are no whole characters are
/// written as "bytes:\xNN...". A token that is none of the most probable is listed behind them.
nlohmann::ordered_json completion_logprobs(const Engine& engine, std::span<const TokenId> tokens,
                                           std::span<const TokenLogprobs> logprobs, std::int64_t& offset);

/// llama.cpp's: [{"id", "token", "bytes", "logprob", "top_logprobs"}, ...], or with probabilities in their
/// place: "prob" and "top_probs".
nlohmann::ordered_json llamacpp_logprobs(const Engine& engine, std::span<const TokenId> tokens,
                                         std::span<const TokenLogprobs> logprobs, bool as_probabilities);

}  // namespace augur
