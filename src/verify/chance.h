#pragma once
#include <cstdint>
#include <span>

#include "base/philox.h"

namespace augur {

/// Where rejection sampling takes its randomness. Tests replace it to enumerate every outcome with its
/// probability.
class Chance {
 public:
  virtual ~Chance() = default;
  /// True with probability p.
  virtual bool happens(double p) = 0;
  /// An index with probability weights[i] / sum(weights). Some weight is positive.
  virtual std::int32_t pick(std::span<const double> weights) = 0;
};

/// Numbers from (seed, absolute position of the root, how many were taken since), so that a run can be
/// repeated. The stream differs from the sampler's noise for the same seed.
class KeyedChance final : public Chance {
 public:
  KeyedChance(std::uint64_t seed, std::int64_t position)
      : key_(seed), position_(static_cast<std::uint64_t>(position)) {}
  bool happens(double p) override { return uniform() < p; }
  std::int32_t pick(std::span<const double> weights) override;

 private:
  double uniform();  ///< in [0, 1), 53 bits
  std::uint64_t key_;
  std::uint64_t position_;
  std::uint32_t taken_ = 0;
};

}  // namespace augur
