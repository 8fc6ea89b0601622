#pragma once
#include <map>
#include <vector>

#include "cost/cost.h"

namespace augur {

/// Times of a measurement that were taken again and again, by row count. What disturbs one makes it longer,
/// never shorter: of each row count those count that were taken in its calmest moments.
class CalmTimes {
 public:
  /// A moment in which the same took so many times the shortest time is calm, too: forwards alike differ by a
  /// few percent.
  static constexpr double kAsCalm = 1 + FastTimes::kDisturbed;

  void add(double rows, double ms);
  bool empty() const { return times_.empty(); }

  struct Time {
    double rows;
    double ms;     ///< the median of the calm moments
    double doubt;  ///< by which it may be too long: standard error of its logarithm
  };
  std::vector<Time> times() const;

 private:
  std::map<double, std::vector<double>> times_;
};

}  // namespace augur
