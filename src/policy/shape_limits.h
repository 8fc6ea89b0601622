#pragma once
#include "policy/arguments.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "policy/tree_bounds.h"

namespace augur {

// The limits of a plan as chains and trees take them, each read as PolicyArguments::limit() does.

/// n-max, n-min and p-min.
ChainPolicy::Options chain_limits(PolicyArguments& arguments);
/// topk, depth and size.
Eagle2Policy::Options tree_limits(PolicyArguments& arguments);

// How large trees of these shapes can get.

TreeBounds bounds_of(const ChainPolicy::Options& chain);
TreeBounds bounds_of(const Eagle2Policy::Options& tree);
/// For a policy that gives some drafters the one, some the other.
TreeBounds larger(const TreeBounds& a, const TreeBounds& b);

}  // namespace augur
