#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace augur {

/// Which tokens may come next: token t where bit t % 32 of word t / 32 is set. Empty: all.
using TokenMask = std::span<const std::uint32_t>;

inline constexpr std::size_t mask_words(std::int64_t vocab) {
  return static_cast<std::size_t>((vocab + 31) / 32);
}

inline bool allows(TokenMask mask, TokenId token) {
  const auto t = static_cast<std::size_t>(token);
  return mask.empty() || (mask[t / 32] >> (t % 32) & 1u) != 0;
}

/// Tokens that may come next, rising, as long as there are no more than `most`; otherwise false.
bool list_few(TokenMask mask, std::size_t most, std::vector<TokenId>& to);

/// Logits of tokens that may not come next become -infinity. `tokens[i]` is the token of logit i; empty: they
/// are the same.
void apply(TokenMask mask, std::span<const TokenId> tokens, std::span<float> logits);

}  // namespace augur
