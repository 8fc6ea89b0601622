#pragma once
#include <map>
#include <vector>

namespace augur {

/// Times of several things, each measured again and again; a thing is a number, as a count of rows. What
/// disturbs a measurement makes it longer, never shorter: of each thing those count that were taken in its
/// calmest moments.
class CalmTimes {
 public:
  /// Disturbed by so much, a measurement is worth repeating.
  static constexpr double kDisturbed = 0.1;

  void add(double thing, double ms);
  bool empty() const { return times_.empty(); }

  struct Time {
    double thing;
    double ms;     ///< the median of the calm moments
    double doubt;  ///< by which it may be too long: standard error of its logarithm
  };
  std::vector<Time> times() const;

 private:
  std::map<double, std::vector<double>> times_;
};

}  // namespace augur
