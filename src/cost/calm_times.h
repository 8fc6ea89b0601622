#pragma once
#include <map>
#include <vector>

#include "cost/cost.h"

namespace augur {

/// Times of a measurement that were taken again and again, by row count. What disturbs one makes it longer,
/// never shorter: of each row count those count that were taken in its calmest moments.
class CalmTimes {
 public:
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
