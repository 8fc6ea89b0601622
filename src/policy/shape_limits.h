#pragma once
#include "policy/arguments.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"

namespace augur {

// The limits of a plan as chains and trees take them, each read as PolicyArguments::limit() does.

/// n-max, n-min and p-min.
ChainPolicy::Options chain_limits(PolicyArguments& arguments);
/// topk, depth and size.
Eagle2Policy::Options tree_limits(PolicyArguments& arguments);

}  // namespace augur
