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

/// Of the pairs from `begin` to `end`, split at `split`.
double loss_of(const Sorted& pairs, SplitLoss loss, std::size_t begin, std::size_t split, std::size_t end) {
  const double low = pairs.spread(begin, split);
  const double high = pairs.spread(split, end);
  if (loss == SplitLoss::Squares) return low + high;
  const auto share = static_cast<double>(split - begin) / static_cast<double>(end - begin);
  return share * low + (1 - share) * high;
}

void grow(const Sorted& pairs, std::size_t begin, std::size_t end, int levels,
          const RegressionTreeOptions& options, RegressionTree& tree) {
  const auto smallest = static_cast<std::size_t>(std::max(options.smallest, 1));
  std::size_t best = begin;
  double best_spread = pairs.spread(begin, end) * (1.0 - 1e-12);
  if (levels > 0 && end - begin >= 2 * smallest) {
    for (std::size_t split = begin + smallest; split + smallest <= end; ++split) {
      if (pairs.x[split - 1] == pairs.x[split]) continue;  // equal inputs stay together
      const double spread = loss_of(pairs, options.loss, begin, split, end);
      if (spread < best_spread) {
        best = split;
        best_spread = spread;
      }
    }
  }
  if (best > begin) {
    grow(pairs, begin, best, levels - 1, options, tree);
    tree.thresholds.push_back(std::midpoint(pairs.x[best - 1], pairs.x[best]));
    grow(pairs, best, end, levels - 1, options, tree);
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
  grow(pairs, 0, x.size(), options.levels, options, tree);
  return tree;
}

}  // namespace augur
