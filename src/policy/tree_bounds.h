#pragma once
#include <cstdint>
#include <string_view>

namespace augur {

/// Bounds of a policy's trees, from which memory is checked before work starts (engine/memory_check.h).
struct TreeBounds {
  /// A number of nodes and the keys that set it: keys of the plan, or the policy's own settings if these are
  /// what the user can lower. Error messages begin with `keys`.
  struct Nodes {
    std::int64_t count = 0;
    std::string_view keys;
  };

  Nodes nodes;     ///< from one drafter to verification, besides the root
  Nodes expanded;  ///< with children, in one drafter's tree of drawn candidates: each stores a q
  std::int64_t batch =
      0;  ///< most nodes in all trees of a batch together; 0: each sequence has its own limit
};

/// For a policy that gives some drafters trees with the bounds `a` and others with `b`.
inline TreeBounds larger(const TreeBounds& a, const TreeBounds& b) {
  return {.nodes = a.nodes.count >= b.nodes.count ? a.nodes : b.nodes,
          .expanded = a.expanded.count >= b.expanded.count ? a.expanded : b.expanded};
}

}  // namespace augur
