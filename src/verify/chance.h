#pragma once
#include <cstdint>
#include <span>

#include "base/philox.h"

namespace augur {

/// Source of randomness for rejection sampling. Tests replace it to enumerate every outcome and its
/// probability.
class Chance {
 public:
  virtual ~Chance() = default;
  /// True with probability p.
  virtual bool happens(double p) = 0;
  /// An index with probability weights[i] / sum(weights). At least one weight is positive.
  virtual std::int32_t pick(std::span<const double> weights) = 0;
};

/// Random numbers that depend on the seed, the absolute position of the root, and how many were taken before,
/// so that a run can be repeated. They differ from the sampler's noise for the same seed. For one thread at a
/// time.
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
