#pragma once
#include <vector>

#include "base/types.h"

namespace augur {

/// A distribution over tokens: those of positive probability in order of ascending id. The probabilities add
/// up to 1 (within rounding).
struct SparseDistribution {
  std::vector<TokenId> tokens;
  std::vector<float> probs;
};

}  // namespace augur
