#pragma once
#include <cstddef>
#include <span>

#include "base/types.h"

namespace augur {

struct NucleusEntry {
  float logit;
  float weight;  ///< unnormalised probability
  TokenId token;
};

/// Moves the nucleus to the front and returns its size: the fewest entries by descending logit (equals by
/// ascending token) whose weights add up to `target` or more; all of them if they never do. Takes time linear
/// in the number of entries, on average, since it sorts nothing but what lies around the nucleus' end.
std::size_t partition_nucleus(std::span<NucleusEntry> entries, double target);

}  // namespace augur
