#pragma once
#include "augur/engine.h"

namespace augur {

/// The time of so many rows: straight lines between those that were measured, below the first as there,
/// beyond the last on its line. The curve has a point at least.
double ms_at(const MeasuredCosts::Curve& curve, double rows);

}  // namespace augur
