#include "policy/chain_shape.h"

#include <algorithm>

namespace augur {

void ChainShape::begin(const RoundInfo& round) {
  limit_ = std::max(0, std::min({max_, round.room, round.max_depth, round.drafter.max_depth}));
  one_shot_ = round.drafter.one_shot;
  started_ = false;
}

std::int32_t ChainShape::next(const DraftTree& tree) {
  if (limit_ == 0 || (one_shot_ && started_)) return -1;
  started_ = true;
  std::int32_t last = DraftTree::kRoot;
  while (tree.first_child(last) >= 0) last = tree.first_child(last);
  return tree.depths()[static_cast<std::size_t>(last)] < limit_ ? last : -1;
}

}  // namespace augur
