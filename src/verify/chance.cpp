#include "verify/chance.h"

namespace augur {

double KeyedChance::uniform() {
  constexpr std::uint32_t kStream = 0x72656a63u;  // "rejc": keeps the counter apart from the sampler's
  const auto bits = philox4x32(
      {static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(position_ >> 32), taken_++, kStream},
      key_);
  const std::uint64_t high = bits[0] >> 5;
  const std::uint64_t low = bits[1] >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

std::int32_t KeyedChance::pick(std::span<const double> weights) {
  double total = 0.0;
  for (const double w : weights) total += w;
  const double target = uniform() * total;
  double sum = 0.0;
  std::int32_t last_possible = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0.0) continue;
    last_possible = static_cast<std::int32_t>(i);
    sum += weights[i];
    if (target < sum) break;
  }
  return last_possible;
}

}  // namespace augur
