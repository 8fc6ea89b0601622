#include "tree/eagle2_policy.h"

#include <algorithm>
#include <numeric>

namespace augur {
namespace {

/// Moves the `count` best nodes (highest score, then lowest index) to the front of `order`, sorted.
void best_first(std::vector<std::int32_t>& order, std::size_t count, std::span<const float> scores) {
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float sa = scores[static_cast<std::size_t>(a)];
    const float sb = scores[static_cast<std::size_t>(b)];
    return sa != sb ? sa > sb : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
}

}  // namespace

void Eagle2Policy::begin(const RoundInfo& round) {
  keep_ = std::max(0, std::min(options_.size - 1, round.room));
  levels_ = std::max(0, std::min({options_.levels, round.max_depth, round.drafter.max_depth}));
  one_shot_ = round.drafter.one_shot;
  level_ = 0;
  level_begin_ = 0;
}

void Eagle2Policy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  if (keep_ == 0 || level_ == levels_ || (one_shot_ && level_ > 0)) return;
  order_.resize(static_cast<std::size_t>(tree.size() - level_begin_));
  std::iota(order_.begin(), order_.end(), level_begin_);
  const std::size_t count = std::min(order_.size(), static_cast<std::size_t>(options_.top_k));
  best_first(order_, count, tree.scores());
  out.assign(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
  level_begin_ = tree.size();
  ++level_;
}

void Eagle2Policy::prune(DraftTree& tree) {
  const std::size_t candidates = static_cast<std::size_t>(tree.size()) - 1;
  if (candidates <= static_cast<std::size_t>(keep_)) return;
  if (tree.law() == ProposalLaw::Sampled) {
    // Cut by place: which nodes go must not depend on the tokens that were drawn for them.
    tree.truncate(keep_ + 1);
    return;
  }
  // A scorer may rate a child above its parent; what counts is the worst node on the path.
  rank_scores_.assign(tree.scores().begin(), tree.scores().end());
  for (std::size_t node = 1; node <= candidates; ++node) {
    const auto parent = static_cast<std::size_t>(tree.parents()[node]);
    if (parent != 0) rank_scores_[node] = std::min(rank_scores_[node], rank_scores_[parent]);
  }
  order_.resize(candidates);
  std::iota(order_.begin(), order_.end(), 1);
  best_first(order_, static_cast<std::size_t>(keep_), rank_scores_);
  order_.resize(static_cast<std::size_t>(keep_));
  order_.push_back(DraftTree::kRoot);
  std::sort(order_.begin(), order_.end());
  tree.select(order_);
}

}  // namespace augur
