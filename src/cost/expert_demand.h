#pragma once
#include <array>
#include <span>

#include "model/config.h"

namespace augur {

/// How many distinct experts the rows of a forward are expected to wake, over all layers of a mixture of
/// experts: each one's weights are read once, however many rows go to it. If every row chose `active` of
/// `count` experts evenly and by itself, n rows would wake count * (1 - (1 - active / count)^n) of a layer.
/// Rows of one text choose alike, so they wake as many as if the layer had fewer experts: its *pool*, which
/// is learned from what steps have woken, by row count. Of a dense model everything is 0. One thread at a
/// time; nothing allocates.
class ExpertDemand {
 public:
  /// One for each power of two from two rows up to as many as CostCurve knows.
  static constexpr std::size_t kPools = 7;

  ExpertDemand() = default;
  /// `layers` of a model have experts: `count`, of which every row wakes `active`.
  ExpertDemand(int count, int active, int layers);
  static ExpertDemand of(const ModelConfig& config);

  bool dense() const { return layers_ == 0; }
  int count() const { return count_; }
  int active() const { return active_; }
  int layers() const { return layers_; }

  /// Of rows that choose evenly, each by itself. rows >= 1
  double even(double rows) const;
  /// As learned; until anything has been, the same. rows >= 1
  double at(double rows) const;
  /// A forward of so many rows has woken so many, over all layers. One row says nothing.
  void observe(double rows, double experts);

  /// Between active() and largest_pool(), where routers spread rows more than evenly. For the file.
  std::span<const double> pools() const { return pools_; }
  double largest_pool() const { return 2.0 * count_; }
  void set_pools(std::span<const double> pools);

 private:
  double woken(double pool, double rows) const;
  double pool_of(double rows, double experts) const;

  int count_ = 0;
  int active_ = 0;
  int layers_ = 0;
  std::array<double, kPools> pools_{};
  std::array<double, kPools> seen_{};  ///< weight of what was observed
};

}  // namespace augur
