#include "lab/bench/cost_curve.h"

#include <algorithm>
#include <cassert>

namespace augur {

double ms_at(const MeasuredCosts::Curve& curve, double rows) {
  assert(!curve.rows.empty() && curve.rows.size() == curve.ms.size());
  if (curve.rows.size() == 1 || rows <= curve.rows.front()) return curve.ms.front();
  const auto above = std::lower_bound(curve.rows.begin() + 1, curve.rows.end() - 1, rows);
  const auto high = static_cast<std::size_t>(above - curve.rows.begin());
  const double step = (rows - curve.rows[high - 1]) / (curve.rows[high] - curve.rows[high - 1]);
  return curve.ms[high - 1] + step * (curve.ms[high] - curve.ms[high - 1]);
}

}  // namespace augur
