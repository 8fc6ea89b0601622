#include "policy/eagle2_policy.h"

#include <algorithm>
#include <numeric>

namespace augur {

void Eagle2Policy::begin(const RoundInfo& round) {
  room_ = round.room;
  most_levels_ = std::min(round.max_depth, round.drafter.max_depth);
  adjust(options_.levels, options_.size);
  one_shot_ = round.drafter.one_shot;
  level_ = 0;
  level_begin_ = 0;
}

void Eagle2Policy::adjust(int levels, int size) {
  keep_ = std::max(0, std::min(size - 1, room_));
  levels_ = std::max(0, std::min(levels, most_levels_));
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
  reranker_.keep_best(tree, static_cast<std::size_t>(keep_));
}

}  // namespace augur
