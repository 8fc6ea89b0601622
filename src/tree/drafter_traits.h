#pragma once
#include <string>

#include "augur/drafter_traits.h"

namespace augur {

/// Rows of a sequence that a drafter runs at once where many wait.
inline constexpr int kSequenceChunk = 256;

/// What a drafter is known by: to policies, in costs and beliefs, in results.
struct DrafterIdentity {
  std::string name;  ///< of its type, canonical: "eagle3"
  DrafterTraits traits;
};

}  // namespace augur
