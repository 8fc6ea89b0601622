#pragma once
#include "augur/engine.h"
#include "cost/live_costs.h"

namespace augur {

/// The costs that are known now; measures nothing.
MeasuredCosts report_costs(const LiveCosts& live);

}  // namespace augur
