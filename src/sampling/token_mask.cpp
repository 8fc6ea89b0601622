#include "sampling/token_mask.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace augur {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

constexpr std::array<std::uint32_t, 32> kBits = [] {
  std::array<std::uint32_t, 32> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = std::uint32_t{1} << i;
  return bits;
}();

/// Without branches: most words of a mask are mixed, and compilers make vectors of this.
void apply_word(std::uint32_t word, float* logits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) logits[i] = (word & kBits[i]) != 0 ? logits[i] : kForbidden;
}

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
      logits[i] = allows(mask, tokens[i]) ? logits[i] : kForbidden;
    }
    return;
  }
  for (std::size_t first = 0; first < logits.size(); first += 32) {
    const std::uint32_t word = mask[first / 32];
    if (word == ~std::uint32_t{0}) continue;
    if (logits.size() - first >= 32) {
      apply_word(word, &logits[first], 32);
    } else {
      apply_word(word, &logits[first], logits.size() - first);
    }
  }
}

}  // namespace augur
