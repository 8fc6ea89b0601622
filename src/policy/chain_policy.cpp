#include "policy/chain_policy.h"

#include <algorithm>

#include "base/elementary.h"

namespace augur {

void ChainPolicy::begin(const RoundInfo& round) {
  limit_ = std::max(0, std::min({options_.max, round.room, round.max_depth, round.drafter.max_depth}));
  if (limit_ < options_.min) limit_ = 0;
  p_min_ = round.drafter.has_probabilities && !round.drafter.has_confidence ? options_.p_min : 0.0;
  one_shot_ = round.drafter.one_shot;
  started_ = false;
}

bool ChainPolicy::confident(const DraftTree& tree, std::int32_t node) const {
  return node == DraftTree::kRoot ||
         elementary::exp(static_cast<double>(tree.log_probs()[static_cast<std::size_t>(node)])) >= p_min_;
}

void ChainPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  if (limit_ == 0 || (one_shot_ && started_)) return;
  started_ = true;
  std::int32_t last = DraftTree::kRoot;
  while (tree.first_child(last) >= 0) last = tree.first_child(last);
  if (tree.depths()[static_cast<std::size_t>(last)] < limit_ && confident(tree, last)) out.push_back(last);
}

void ChainPolicy::prune(DraftTree& tree) {
  // The first child of every node is the chain; one-shot drafters may have added more. Drawn tokens stay,
  // however few and improbable: their number depends on what was drawn.
  const bool drawn = tree.law() == ProposalLaw::Sampled;
  keep_.assign(1, DraftTree::kRoot);
  for (std::int32_t node = tree.first_child(DraftTree::kRoot); node >= 0; node = tree.first_child(node)) {
    if (static_cast<int>(keep_.size()) > limit_ || (!drawn && !confident(tree, node))) break;
    keep_.push_back(node);
  }
  if (!drawn && static_cast<int>(keep_.size()) - 1 < options_.min) keep_.resize(1);
  if (static_cast<std::int32_t>(keep_.size()) < tree.size()) tree.select(keep_);
}

}  // namespace augur
