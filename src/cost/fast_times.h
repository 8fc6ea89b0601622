#pragma once
#include <array>
#include <cstddef>

namespace augur {

/// What a machine can do: for every knot of a CostCurve the shortest time seen lately, and by how much that
/// may be too long, as a standard error of its logarithm. This outlives a process, whatever the machine is
/// busy with when it ends: what disturbs a step makes it longer, never shorter. Nothing allocates.
class FastTimes {
 public:
  /// Row counts of the knots: dense where kernels fill their tiles.
  static constexpr std::array<double, 14> kRows = {1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128};
  static constexpr std::size_t kKnots = kRows.size();
  using Vector = std::array<double, kKnots>;

  const Vector& log_ms() const { return log_ms_; }
  double doubt(std::size_t knot) const { return doubt_[knot]; }
  /// The knots' mean.
  double doubt() const;

  void set(std::size_t knot, double log_ms, double doubt);
  /// Another measurement of the same: at every knot the shorter time, and the doubt that two leave.
  void improve(const FastTimes& other);
  /// No knot is less in doubt than so much.
  void distrust(double doubt);
  /// What is believed at the moment: shorter times are taken over within some steps, longer ones within ten
  /// thousand.
  void follow(const Vector& log_ms);
  /// A knot was seen itself, a share of it where another was, too.
  void saw(std::size_t knot, double share);

  /// Takes off what cannot be: n rows take no longer than more rows do.
  void tighten();
  /// What is in doubt follows its neighbours.
  void smooth();

 private:
  Vector log_ms_{};
  Vector doubt_{};
};

}  // namespace augur
