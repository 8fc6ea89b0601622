#pragma once
#include <algorithm>
#include <cstdint>

#include "draft/drafter.h"

namespace augur {

/// Shares out the nodes that an expansion may add over the nodes of its frontier, in their order.
class ChildBudget {
 public:
  explicit ChildBudget(const ExpandOptions& options) : each_(options.top_k), left_(options.max_nodes) {}

  /// Children of the next node, of at most `vocab` candidates. 0 once nothing is left.
  int take(std::int64_t vocab) {
    const auto count = static_cast<int>(std::min<std::int64_t>({each_, left_, vocab}));
    left_ -= count;
    return count;
  }
  bool spent() const { return left_ <= 0; }

 private:
  int each_;
  int left_;
};

}  // namespace augur
