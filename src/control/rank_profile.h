#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

namespace augur {

/// What a drafter's k-th best child is worth on average, by depth: the mean acceptance of a node before it
/// has been drafted. It says whether one more level is worth its time, and how many children a node is worth.
class RankProfile {
 public:
  static constexpr int kRanks = 12;
  static constexpr int kDepths = 8;

  RankProfile() {
    for (auto& depth : means_) {
      double mean = 0.55;
      for (Mean& m : depth) {
        m.value = mean;
        mean *= 0.35;
      }
    }
  }

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

  double at(int depth, int rank) const { return means_[row(depth)][column(rank)].value; }
  void observe(int depth, int rank, double acceptance) {
    Mean& m = means_[row(depth)][column(rank)];
    m.value += (acceptance - m.value) * std::max(1.0 / (m.count + kPrior), kSlowestRate);
    m.count += 1;
  }

 private:
  static constexpr double kPrior = 4;
  static constexpr double kSlowestRate = 1.0 / 96;
  static std::size_t row(int depth) { return static_cast<std::size_t>(std::clamp(depth, 1, kDepths) - 1); }
  static std::size_t column(int rank) { return static_cast<std::size_t>(std::clamp(rank, 0, kRanks - 1)); }

  Means means_;
};

}  // namespace augur
