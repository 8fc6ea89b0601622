#include "lab/train/stratification.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace augur {

namespace {

/// Upper end of the low bins.
double low_end(const RegressionTree& tree) {
  constexpr double kLowShare = 3.0 / 8.0;  // the lowest three bins of a full tree of three levels
  const auto low = std::max<std::int64_t>(1, std::llround(kLowShare * static_cast<double>(tree.bins.size())));
  if (low > std::ssize(tree.thresholds)) return std::numeric_limits<double>::infinity();
  return tree.thresholds[static_cast<std::size_t>(low) - 1];
}

}  // namespace

std::vector<StratumOverlap> stratum_overlaps(std::span<const double> x, std::span<const double> y,
                                             const RegressionTree& tree, RegressionTreeOptions options,
                                             std::span<const int> levels) {
  // Low sets are intervals from below, so one holds the other and Jaccard's index is a quotient of sizes.
  const auto size_of = [&](double end) {
    return static_cast<double>(std::count_if(x.begin(), x.end(), [end](double v) { return v <= end; }));
  };
  const double reference = size_of(low_end(tree));
  std::vector<StratumOverlap> overlaps;
  for (const int depth : levels) {
    options.levels = depth;
    const RegressionTree finer = fit_regression_tree(x, y, options);
    const double end = low_end(finer);
    const double size = size_of(end);
    overlaps.push_back(
        {depth, finer.bins.size(), end, std::min(size, reference) / std::max(size, reference)});
  }
  return overlaps;
}

}  // namespace augur
