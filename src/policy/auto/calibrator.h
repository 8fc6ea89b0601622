#pragma once
#include <array>
#include <cstddef>

namespace augur {

/// Turns what one drafter says about a node into a(v): the probability that the node's token is accepted,
/// given that its parent was. A logistic regression on the drafter's own log-probability (a piecewise linear
/// function of its log-odds) and on depth, fitted as the text goes by a step of Newton's method per outcome
/// and weight. It starts at a = q; what a knot knows fades over some hundred of its outcomes. A
/// prediction costs two exponentials. Outcomes are those of children of accepted nodes: what is asked for is
/// conditional on the parent, so nothing is biased by what was never reached.
class Calibrator {
 public:
  Calibrator();

  double acceptance(double log_prob, int depth) const;
  void observe(double log_prob, int depth, bool accepted);
  double outcomes() const { return outcomes_; }

  /// No token is certain; with this a node's P is always below its parent's.
  static constexpr double kMost = 0.995;
  static constexpr double kLeast = 0.0005;

  // All that is known, to be kept and to be begun with.
  static constexpr std::size_t kKnots = 13;  ///< log-odds -6, -5, ..., 6
  static constexpr std::size_t kDepths = 8;  ///< 1, 2, ..., 8 and deeper
  struct Weight {
    double value = 0;
    double curvature = 0;
  };
  /// Of the knots, then of the depths.
  const std::array<Weight, kKnots + kDepths>& weights() const { return weights_; }
  /// Believed as `outcomes` would be, at most.
  void restore(const std::array<Weight, kKnots + kDepths>& weights, double outcomes);

 private:
  struct Place {
    double log_odds;
    std::size_t low;
    double high_share;
    std::size_t depth;
  };
  static Place place(double log_prob, int depth);
  double logit(const Place& p) const;

  std::array<Weight, kKnots + kDepths> weights_;
  double outcomes_ = 0;
};

/// By how much a token is likelier, in log-odds, than what the surest of its proposers says, because of what
/// other drafters say: that they propose it, too, or something else in its place. Learned in the same way.
class Agreement {
 public:
  explicit Agreement(double shift) : shift_(shift) {}

  double acceptance(double surest) const;
  void observe(double surest, bool accepted);

 private:
  double shift_;
  double curvature_ = 4.0;
};

}  // namespace augur
