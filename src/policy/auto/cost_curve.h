#pragma once
#include <array>
#include <cstddef>

namespace augur {

/// A time in ms as a function of a number of rows: knots at fixed row counts, straight lines between them.
/// It starts as a guess of the right shape and follows what is observed, robustly: an observation moves the
/// two knots around it by a clipped ratio, quickly at first and slowly later, so that a step that the
/// operating system interrupted does no harm. What many observations in a row contradict by a wide margin
/// was measured badly: it is learned anew. Knots that nothing was observed at follow their neighbours at
/// which something was: what was wrong with one's measurement was wrong with theirs. Thread-compatible;
/// nothing allocates.
class CostCurve {
 public:
  static constexpr std::size_t kKnots = 14;
  static constexpr double kSetCount = 32;  ///< observations that a careful measurement is worth
  /// Rows at the knots: dense where kernels fill their tiles.
  static constexpr std::array<double, kKnots> kRows = {1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128};

  /// The guess: base * (1 + slope * (rows - 1)).
  CostCurve(double base_ms, double slope);

  /// Never 0, nor less than for fewer rows by more than what was measured says. Rows beyond the last knot
  /// follow its line.
  double at(double rows) const;
  bool observed() const { return total_ > 0; }
  /// How far times like this one have been observed, rather than only set: from 0 to 1; 1 also as long as
  /// none has been.
  double known(double rows) const;

  /// A time that was measured carefully: it replaces what the knot says. `rows` is a knot's; later times
  /// count against it as against `count` observations.
  void set(double rows, double ms, double count = kSetCount);
  /// A time that was seen once.
  void observe(double rows, double ms);
  /// Knots that were never set nor observed take the line between their neighbours that were.
  void fill_gaps();
  /// No time is longer than that of more rows: what disturbs a measurement makes it longer, never shorter.
  void flatten_peaks();
  void scale(double factor);

  double value(std::size_t knot) const { return ms_[knot]; }
  double count(std::size_t knot) const { return count_[knot]; }  ///< observations, a set one weighing many
  void restore(std::size_t knot, double ms, double count);

 private:
  struct Place {
    std::size_t low;
    double high_share;  ///< of the knot after `low`
  };
  static Place place(double rows);
  void nudge(std::size_t knot, double weight, double ratio);
  void take_along(std::size_t knot, double factor);

  std::array<double, kKnots> ms_{};
  std::array<double, kKnots> count_{};
  std::array<double, kKnots> surprise_{};  ///< running mean of ratio - 1
  std::array<double, kKnots> seen_{};      ///< observations alone
  std::array<bool, kKnots> doubted_{};     ///< contradicted a few observations ago
  double total_ = 0;
};

}  // namespace augur
