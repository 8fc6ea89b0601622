#pragma once
#include "augur/engine.h"
#include "cost/live_costs.h"

namespace augur {

/// What is known of costs; measures nothing.
MeasuredCosts report_costs(const LiveCosts& live);

}  // namespace augur
