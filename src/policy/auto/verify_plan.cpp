#include "policy/auto/verify_plan.h"

#include <algorithm>

namespace augur {
namespace {

constexpr double kLeastOfUsual = 0.25;

}  // namespace

void VerifyPlan::begin(const CostModel& costs, double context, double base_rows, double price, int room) {
  most_ = std::clamp(room, 0, kMostNodes);
  const double base = costs.verify_ms(base_rows, context);
  cost_[0] = 0;
  for (int n = 1; n <= most_; ++n) {
    const auto i = static_cast<std::size_t>(n);
    // More rows never cost less; where the table says so it is noise.
    cost_[i] = std::max(cost_[i - 1], price * (costs.verify_ms(base_rows + n, context) - base));
  }
  // The table has steps where a kernel's tile fills up, so a row's own price may be near 0, and a few rows'
  // may be a fraction of what later ones cost. What counts is the cheapest stretch of some rows.
  double cheapest = 1.0;
  double usual = 1.0;
  for (const int stretch : {4, 8, 16}) {
    const int length = std::min(stretch, most_);
    for (int n = 0; length > 0 && n + length <= most_; ++n) {
      const double slope =
          (cost_[static_cast<std::size_t>(n + length)] - cost_[static_cast<std::size_t>(n)]) / length;
      cheapest = std::min(cheapest, slope);
      if (stretch == 16) usual = std::min(usual, slope);
    }
  }
  // A stretch that costs next to nothing is noise of the table.
  threshold_ = std::max(cheapest, kLeastOfUsual * usual);
}

VerifyPlan::Cut VerifyPlan::best(std::span<const float> falling) const {
  Cut best;
  double tokens = 0;
  const auto count = std::min(falling.size(), static_cast<std::size_t>(most_));
  for (std::size_t i = 0; i < count; ++i) {
    tokens += static_cast<double>(falling[i]);
    const double net = tokens - cost_[i + 1];
    if (net > best.net) best = {static_cast<int>(i) + 1, tokens, net};
  }
  return best;
}

}  // namespace augur
