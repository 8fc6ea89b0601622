#pragma once
#include <algorithm>
#include <vector>

#include "base/types.h"

namespace augur {

/// A distribution over tokens: those of positive probability, by ascending id, probabilities adding up to 1
/// (within rounding).
struct SparseDistribution {
  std::vector<TokenId> tokens;
  std::vector<float> probs;

  float prob(TokenId token) const {
    const auto found = std::lower_bound(tokens.begin(), tokens.end(), token);
    if (found == tokens.end() || *found != token) return 0.0f;
    return probs[static_cast<std::size_t>(found - tokens.begin())];
  }
};

}  // namespace augur
