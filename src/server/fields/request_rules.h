#pragma once
#include "augur/options.h"
#include "server/limits.h"

namespace augur {

/// What the server brings to the reading of a request.
struct RequestRules {
  const SpeculationPlan& speculation;  ///< that a request's own is laid over
  const Limits& limits;
};

}  // namespace augur
