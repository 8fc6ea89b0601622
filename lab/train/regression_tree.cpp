#include "lab/train/regression_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace augur {
namespace {

/// Pairs sorted by input, with sums up to each.
struct Sorted {
  std::vector<double> x;
  std::vector<double> sum{0.0};
  std::vector<double> squares{0.0};

  double mean(std::size_t begin, std::size_t end) const {
    return (sum[end] - sum[begin]) / static_cast<double>(end - begin);
  }
  /// Sum of squared deviations from the mean.
  double spread(std::size_t begin, std::size_t end) const {
    const double total = sum[end] - sum[begin];
    return std::max(0.0, squares[end] - squares[begin] - total * total / static_cast<double>(end - begin));
  }
};

void grow(const Sorted& pairs, std::size_t begin, std::size_t end, int levels, std::size_t smallest,
          RegressionTree& tree) {
  std::size_t best = begin;
  double best_spread = pairs.spread(begin, end) * (1.0 - 1e-12);
  if (levels > 0 && end - begin >= 2 * smallest) {
    for (std::size_t split = begin + smallest; split + smallest <= end; ++split) {
      if (pairs.x[split - 1] == pairs.x[split]) continue;  // equal inputs stay together
      const double spread = pairs.spread(begin, split) + pairs.spread(split, end);
      if (spread < best_spread) {
        best = split;
        best_spread = spread;
      }
    }
  }
  if (best > begin) {
    grow(pairs, begin, best, levels - 1, smallest, tree);
    tree.thresholds.push_back(std::midpoint(pairs.x[best - 1], pairs.x[best]));
    grow(pairs, best, end, levels - 1, smallest, tree);
    return;
  }
  tree.bins.push_back({.low = pairs.x[begin],
                       .high = pairs.x[end - 1],
                       .mean = pairs.mean(begin, end),
                       .deviation = std::sqrt(pairs.spread(begin, end) / static_cast<double>(end - begin)),
                       .count = static_cast<int>(end - begin)});
}

}  // namespace

RegressionTree fit_regression_tree(std::span<const double> x, std::span<const double> y,
                                   const RegressionTreeOptions& options) {
  if (x.empty() || x.size() != y.size()) {
    throw Error("a regression tree of {} inputs and {} outputs: expected as many, and some", x.size(),
                y.size());
  }
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); })) {
    throw Error("a regression tree: an input is not finite");
  }
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  Sorted pairs;
  for (const std::size_t i : order) {
    pairs.x.push_back(x[i]);
    pairs.sum.push_back(pairs.sum.back() + y[i]);
    pairs.squares.push_back(pairs.squares.back() + y[i] * y[i]);
  }
  RegressionTree tree;
  grow(pairs, 0, x.size(), options.levels, static_cast<std::size_t>(std::max(options.smallest, 1)), tree);
  return tree;
}

}  // namespace augur
