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

/// Moves the nucleus to the front and returns its size: the fewest entries in order of descending logit
/// (ties: ascending token) whose weights add up to at least `target`; all of them if they never do. The
/// average time is linear in the number of entries, because only those around the nucleus' end are sorted.
std::size_t partition_nucleus(std::span<NucleusEntry> entries, double target);

}  // namespace augur
