#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "policy/auto/cost_model.h"

namespace augur {

/// One round's prices of verification: what n nodes beside the root cost, in tokens.
class VerifyPlan {
 public:
  static constexpr int kMostNodes = 127;

  /// `base_rows`: rows that are run anyway (the roots, and what else the batch verifies).
  void begin(const CostModel& costs, double context, double base_rows, double price, int room);

  double cost(int nodes) const { return cost_[static_cast<std::size_t>(nodes)]; }
  int most_nodes() const { return most_; }
  /// A node of less probability than this is never worth verifying, whatever else is.
  double threshold() const { return threshold_; }

  struct Cut {
    int nodes = 0;
    double tokens = 0;  ///< expected of these nodes
    double net = 0;     ///< tokens - cost(nodes)
  };
  /// How many of the nodes, given by falling P, are best verified: the n that maximises the sum of their P
  /// less their cost. Steps in the table (tiles of the kernels) are looked beyond.
  Cut best(std::span<const float> falling) const;

 private:
  std::array<double, kMostNodes + 1> cost_{};
  int most_ = 0;
  double threshold_ = 0;
};

}  // namespace augur
