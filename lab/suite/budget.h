#pragma once
#include "lab/suite/method.h"

namespace augur {

/// Has the method draft for `nodes` nodes a round, whatever its policy: chains get so many tokens and trees
/// so many nodes as their limits, where the policy reads such limits (SuiteRequest::budget then holds all to
/// no more). A policy may still stop early; that is what it is for. Plain decoding and other engines stay as
/// they are. Error for a method that says itself how much is verified.
void use_budget(Method& method, int nodes);

}  // namespace augur
