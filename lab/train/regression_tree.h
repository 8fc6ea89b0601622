#pragma once
#include <span>
#include <vector>

namespace augur {

/// An interval of a regression tree's input, and what was seen in it.
struct TreeBin {
  double low = 0, high = 0;  ///< of the inputs seen in it
  double mean = 0;           ///< of their outputs: the prediction
  double deviation = 0;      ///< standard deviation of the outputs
  int count = 0;
};

/// A regression tree over one input: its leaves are intervals, at most 2^levels of them.
struct RegressionTree {
  std::vector<double> thresholds;  ///< ascending; inputs <= thresholds[i] lie in bins[0..i]
  std::vector<TreeBin> bins;       ///< one more than thresholds, by ascending input
};

/// What a split makes least, of its two sides.
enum class SplitLoss {
  Squares,   ///< the sum of squared deviations: CART (Breiman et al., 1984)
  Weighted,  ///< that of each side times its share of the pairs: HeteroSpec's equation 2
};

struct RegressionTreeOptions {
  int levels = 3;
  int smallest = 20;  ///< pairs that a leaf holds at least
  SplitLoss loss = SplitLoss::Squares;
};

/// Every split is the one with the least loss; a
/// node stays a leaf where no split leaves `smallest` pairs on both sides, or none helps. O(n log n). Error
/// unless x and y have one length, not 0, and x is finite. Own code: over one input a split is one pass over
/// sums, and bins need a leaf's deviation, which tree libraries do not keep.
RegressionTree fit_regression_tree(std::span<const double> x, std::span<const double> y,
                                   const RegressionTreeOptions& options);

}  // namespace augur
