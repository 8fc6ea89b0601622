#pragma once
#include <cstdint>
#include <string_view>

namespace augur {

/// How large a policy's trees can get: what memory is checked by before work starts (engine/memory_check.h).
struct TreeBounds {
  /// So many nodes, and what says so, as the error begins for whom they are too many: keys of the plan, or
  /// the policy's own settings where these are what can be made smaller.
  struct Nodes {
    std::int64_t count = 0;
    std::string_view keys;
  };

  Nodes nodes;     ///< beside the root, that one drafter brings to verification
  Nodes expanded;  ///< that get children, of one drafter's tree where candidates are drawn: each has a q
  std::int64_t batch = 0;  ///< nodes of all trees of a batch; 0: each sequence has its own
};

/// Of a policy that gives some drafters trees of the one bounds, some of the other.
inline TreeBounds larger(const TreeBounds& a, const TreeBounds& b) {
  return {.nodes = a.nodes.count >= b.nodes.count ? a.nodes : b.nodes,
          .expanded = a.expanded.count >= b.expanded.count ? a.expanded : b.expanded};
}

}  // namespace augur
