#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace augur {

/// Which tokens may come next: token t if bit t % 32 of word t / 32 is set. Empty: all.
using TokenMask = std::span<const std::uint32_t>;

inline constexpr std::size_t mask_words(std::int64_t vocab) {
  return static_cast<std::size_t>((vocab + 31) / 32);
}

inline bool allows(TokenMask mask, TokenId token) {
  const auto t = static_cast<std::size_t>(token);
  return mask.empty() || (mask[t / 32] >> (t % 32) & 1u) != 0;
}

/// Lists the tokens that may come next, ascending. Returns false if there are more than `most`.
bool list_few(TokenMask mask, std::size_t most, std::vector<TokenId>& to);

/// Sets the logits of tokens that may not come next to -infinity. `tokens[i]` is the token of logit i; empty:
/// logit i is token i's.
void apply(TokenMask mask, std::span<const TokenId> tokens, std::span<float> logits);

}  // namespace augur
