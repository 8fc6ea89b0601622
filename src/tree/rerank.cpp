#include "tree/rerank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tree/usual_sizes.h"

namespace augur {

void best_first(std::vector<std::int32_t>& order, std::size_t count, std::span<const float> scores) {
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float sa = scores[static_cast<std::size_t>(a)];
    const float sb = scores[static_cast<std::size_t>(b)];
    return sa != sb ? sa > sb : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
}

void Reranker::keep_best(DraftTree& tree, std::size_t count) {
  // Trees differ in size from round to round.
  order_.reserve(kUsualTree);
  scores_.reserve(kUsualTree);
  const std::size_t candidates = static_cast<std::size_t>(tree.size()) - 1;
  if (candidates <= count) return;
  scores_.assign(tree.scores().begin(), tree.scores().end());
  for (std::size_t node = 1; node <= candidates; ++node) {
    const auto parent = static_cast<std::size_t>(tree.parents()[node]);
    if (std::isnan(scores_[node])) scores_[node] = -std::numeric_limits<float>::infinity();
    if (parent != 0) scores_[node] = std::min(scores_[node], scores_[parent]);
  }
  order_.resize(candidates);
  std::iota(order_.begin(), order_.end(), 1);
  best_first(order_, count, scores_);
  order_.resize(count);
  order_.push_back(DraftTree::kRoot);
  std::sort(order_.begin(), order_.end());
  tree.select(order_);
}

}  // namespace augur
