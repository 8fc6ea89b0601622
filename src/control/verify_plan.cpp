#include "control/verify_plan.h"

#include <algorithm>

namespace augur {

void VerifyPlan::begin(const CostModel& costs, double context, double base_rows, double price, int room) {
  most_ = std::clamp(room, 0, kMostNodes);
  const double base = costs.verify_ms(base_rows, context);
  cost_[0] = 0;
  threshold_ = 1.0;
  for (int n = 1; n <= most_; ++n) {
    const auto i = static_cast<std::size_t>(n);
    // More rows never cost less; where the table says so it is noise.
    cost_[i] = std::max(cost_[i - 1], price * (costs.verify_ms(base_rows + n, context) - base));
  }
  // The table has steps where a kernel's tile fills up, so a row's own price may be near 0. What counts is
  // the mean over stretches of a tile.
  constexpr int kTile = 16;
  constexpr int kShortest = 4;
  for (int n = 0; n + kShortest <= most_; ++n) {
    const int to = std::min(most_, n + kTile);
    const double slope =
        (cost_[static_cast<std::size_t>(to)] - cost_[static_cast<std::size_t>(n)]) / (to - n);
    threshold_ = std::min(threshold_, slope);
  }
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
