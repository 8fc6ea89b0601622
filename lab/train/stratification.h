#pragma once
#include <span>
#include <vector>

#include "lab/train/regression_tree.h"

namespace augur {

/// How far a finer tree agrees on what has low entropy.
struct StratumOverlap {
  int levels = 0;
  std::size_t bins = 0;
  double threshold = 0;  ///< inputs up to it lie in the low bins
  double jaccard = 0;    ///< of the sets of pairs in low bins, this tree's and the reference's
};

/// HeteroSpec's study of granularity (its table 4): the low bins are the same share, three eighths, of every
/// tree's bins; the reference is `tree`, fitted to the same pairs. `levels`: of the trees compared with it.
std::vector<StratumOverlap> stratum_overlaps(std::span<const double> x, std::span<const double> y,
                                             const RegressionTree& tree, RegressionTreeOptions options,
                                             std::span<const int> levels);

}  // namespace augur
