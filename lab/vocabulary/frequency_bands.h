#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "vocab/head_row.h"

namespace augur {

/// Entries of a drafter's head that are to be clustered among themselves.
struct Band {
  std::vector<std::int32_t> entries;
  std::int64_t clusters = 0;
};

/// Bands of like frequency of the entries beyond the `core` most frequent tokens: the core's neighbours up to
/// 4 times its size, then up to 16 times, and so on. A cluster of tokens that are about equally frequent is
/// worth its price or not; in one over all of the vocabulary a frequent token pays for many rare ones. A band
/// gets clusters as the root of its size: those of frequent tokens are the small ones. One band of all
/// entries where `banded` is false (DynaSpec's form), or the core empty. `rank`: a token's place by
/// frequency, from 0.
std::vector<Band> frequency_bands(const HeadWeights& weights, std::span<const std::int64_t> rank,
                                  std::int64_t core, std::int64_t clusters, bool banded);

}  // namespace augur
