#pragma once
#include <algorithm>

#include "sampling/sparse_distribution.h"

namespace augur::testing_support {

/// Of a token, which the distribution need not have.
inline float probability_of(TokenId token, const SparseDistribution& distribution) {
  const auto found = std::find(distribution.tokens.begin(), distribution.tokens.end(), token);
  if (found == distribution.tokens.end()) return 0.0f;
  return distribution.probs[static_cast<std::size_t>(found - distribution.tokens.begin())];
}

}  // namespace augur::testing_support
