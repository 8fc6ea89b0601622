#include "cost/expert_demand.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "cost/yardsticks.h"

namespace augur {

ExpertDemand::ExpertDemand(int count, int active, int layers)
    : count_(count), active_(active), layers_(layers) {
  pools_.fill(count);
}

ExpertDemand ExpertDemand::of(const ModelConfig& config) {
  int layers = 0;
  ExpertSpec experts;
  for (int i = 0; i < config.layers; ++i) {
    if (config.layer(i).experts.count == 0) continue;
    experts = config.layer(i).experts;
    ++layers;
  }
  return layers == 0 ? ExpertDemand() : ExpertDemand(experts.count, experts.active, layers);
}

/// In one layer.
double ExpertDemand::woken(double pool, double rows) const {
  assert(rows >= 1);
  if (pool <= active_) return active_;
  const double woken = -pool * std::expm1(rows * std::log1p(-active_ / pool));
  return std::clamp(woken, static_cast<double>(active_), std::min<double>(count_, rows * active_));
}

double ExpertDemand::even(double rows) const {
  return dense() ? 0 : layers_ * woken(count_, rows);
}

double ExpertDemand::at(double rows) const {
  if (dense()) return 0;
  const double place = std::clamp(std::log2(rows) - 1, 0.0, kPools - 1.0);
  const auto low = std::min(static_cast<std::size_t>(place), kPools - 2);
  const double share = place - static_cast<double>(low);
  return layers_ * woken((1 - share) * pools_[low] + share * pools_[low + 1], rows);
}

/// The pool of which so many rows wake so many in a layer.
double ExpertDemand::pool_of(double rows, double experts) const {
  double low = active_;
  double high = largest_pool();
  for (int i = 0; i < std::numeric_limits<float>::digits; ++i) {  // as exact as that
    const double middle = (low + high) / 2;
    (woken(middle, rows) < experts ? low : high) = middle;
  }
  return (low + high) / 2;
}

void ExpertDemand::observe(double rows, double experts) {
  if (dense() || rows < 2 || !(experts > 0)) return;
  const double pool = pool_of(rows, experts / layers_);
  const double place = std::log2(rows) - 1;
  for (std::size_t i = 0; i < kPools; ++i) {
    // At twice or half its rows an observation counts for exp(-2).
    const double weight = std::exp(-2 * std::abs(place - static_cast<double>(i)));
    seen_[i] += weight * (1 - kRecent * seen_[i]);
    pools_[i] += weight / seen_[i] * (pool - pools_[i]);
  }
}

void ExpertDemand::set_pools(std::span<const double> pools) {
  for (std::size_t i = 0; i < kPools; ++i) {
    pools_[i] = std::clamp(pools[i], static_cast<double>(active_), largest_pool());
  }
  seen_.fill(1 / kRecent);
}

}  // namespace augur
