#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

namespace augur {

/// What a drafter's k-th best child is worth on average, by depth: the mean acceptance of a node before it
/// has been drafted. It says whether one more level is worth its time, and how many children a node is worth.
/// What has been seen little of is taken to be as the depth above.
class RankProfile {
 public:
  static constexpr int kRanks = 12;
  static constexpr int kDepths = 8;

  struct Mean {
    double value = 0;
    double count = 0;
  };
  using Means = std::array<std::array<Mean, kRanks>, kDepths>;

  const Means& means() const { return means_; }
  /// Begins with what was known, as if it came from `count` values each at most.
  void restore(const Means& means, double count) {
    means_ = means;
    for (auto& depth : means_) {
      for (Mean& m : depth) m.count = std::min(m.count, count);
    }
  }

  double at(int depth, int rank) const {
    const std::size_t last = row(depth);
    const std::size_t k = column(rank);
    double estimate = kBest;
    for (std::size_t i = 0; i < k; ++i) estimate *= kNextRank;
    for (std::size_t d = 0; d <= last; ++d) {
      const Mean& m = means_[d][k];
      if (d > 0) estimate *= kNextDepth;
      estimate = (m.count * m.value + kPrior * estimate) / (m.count + kPrior);
    }
    return estimate;
  }
  void observe(int depth, int rank, double acceptance) {
    Mean& m = means_[row(depth)][column(rank)];
    m.count += 1;
    m.value += (acceptance - m.value) * std::max(1.0 / m.count, kSlowestRate);
  }

 private:
  // Before anything was seen: of the best child, and of the next one and of one a level deeper, relative.
  static constexpr double kBest = 0.55;
  static constexpr double kNextRank = 0.35;
  static constexpr double kNextDepth = 0.9;
  static constexpr double kPrior = 4;
  static constexpr double kSlowestRate = 1.0 / 96;
  static std::size_t row(int depth) { return static_cast<std::size_t>(std::clamp(depth, 1, kDepths) - 1); }
  static std::size_t column(int rank) { return static_cast<std::size_t>(std::clamp(rank, 0, kRanks - 1)); }

  Means means_{};
};

}  // namespace augur
