#include "sampling/token_mask.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace augur {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

}  // namespace

bool list_few(TokenMask mask, std::size_t most, std::vector<TokenId>& to) {
  to.clear();
  if (mask.empty()) return false;
  std::size_t count = 0;
  for (const std::uint32_t word : mask) count += static_cast<std::size_t>(std::popcount(word));
  if (count > most) return false;
  for (std::size_t w = 0; w < mask.size(); ++w) {
    for (std::uint32_t word = mask[w]; word != 0; word &= word - 1) {
      to.push_back(static_cast<TokenId>(32 * w) + std::countr_zero(word));
    }
  }
  return true;
}

void apply(TokenMask mask, std::span<const TokenId> tokens, std::span<float> logits) {
  if (mask.empty()) return;
  if (!tokens.empty()) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (!allows(mask, tokens[i])) logits[i] = kForbidden;
    }
    return;
  }
  for (std::size_t first = 0; first < logits.size(); first += 32) {
    const std::uint32_t word = mask[first / 32];
    if (word == ~std::uint32_t{0}) continue;
    const std::size_t count = std::min<std::size_t>(32, logits.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      if ((word >> i & 1u) == 0) logits[first + i] = kForbidden;
    }
  }
}

}  // namespace augur
