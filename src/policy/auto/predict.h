#pragma once
#include <array>
#include <cstddef>
#include <span>

namespace augur {

/// Depths that are told apart: 1, 2, ..., 8 and deeper.
inline constexpr int kDepths = 8;

/// Turns what one drafter says about a node into a(v): the probability that the node's token is accepted,
/// given that its parent was. A logistic regression on the drafter's own log-probability (a piecewise linear
/// function of its log-odds) and on depth, fitted over all texts by a step of Newton's method per outcome. It
/// starts at a = q. Outcomes are those of children of accepted nodes: what is asked for is conditional on the
/// parent, so nothing is biased by what was never reached.
class Calibrator {
 public:
  Calibrator();

  double log_odds(double log_prob, int depth) const;
  /// `error`: the outcome (0 or 1) less the probability that it was given.
  void observe(double log_prob, int depth, double error, double probability);
  static constexpr int kKnots = 13;  ///< log-odds -6, -5, ..., 6

 private:
  struct Weight {
    double value = 0;
    double curvature = 0;  ///< of the log-likelihood: one over the variance
  };
  struct Place {
    double log_odds;
    std::size_t low;
    double high_share;
    std::size_t depth;
  };
  static Place place(double log_prob, int depth);

  std::array<Weight, kKnots + kDepths> weights_;
};

/// The mean a(v) of a drafter's k-th best child by depth: what a node is worth before it has been drafted.
/// What has been seen little of is taken to be as the depth above.
class RankProfile {
 public:
  static constexpr int kRanks = 12;

  double at(int depth, int rank) const;
  /// Variance of what at() says, as log-odds.
  double doubt(int depth, int rank) const;
  /// `rate`: of the running mean, at least.
  void observe(int depth, int rank, double acceptance, double rate);

 private:
  struct Mean {
    double value = 0;
    double count = 0;
  };
  std::array<std::array<Mean, kRanks>, kDepths> means_{};
};

/// What is believed about one drafter, over all texts of an engine.
struct DrafterBelief {
  Calibrator calibrator;
  RankProfile profile;        ///< of calibrated acceptance
  RankProfile drawn_profile;  ///< of outcomes: for drawn candidates, whose tokens must not be looked at
  double shift = 0;           ///< of its log-odds: what the calibrator learns too slowly
  double variance;            ///< of what is believed of it

  DrafterBelief();
};

/// What a drafter's candidates are worth in one sequence. Texts differ: the log-odds of all its candidates
/// are shifted by one number, which is normally distributed over texts and wanders as the text goes on. A new
/// text begins with the mean of the others and with the doubt how much it differs. What has not been looked
/// at for long fades to that mean, and is in doubt again.
class SequencePrediction {
 public:
  /// Rounds in which what was seen of a text fades to 1/e; and tokens in which catching up with a text (its
  /// prompt, what was written plainly) is to pay for itself, if it may be as long as that: most end before
  /// they must.
  static constexpr double kLength = 300;

  /// `belief` outlives it.
  explicit SequencePrediction(DrafterBelief& belief);

  /// a(v) of a node that has been drafted: `log_prob` by the drafter, depth from 1; `errors` standard errors
  /// above what is believed.
  double acceptance(double log_prob, int depth, double errors = 0) const;
  /// The same of the children of an accepted node at depth - 1, by rank, before they have been drafted.
  /// Together they are no more than certain. `drawn`: their tokens are drawn from the drafter's law rather
  /// than ranked by it.
  std::array<double, RankProfile::kRanks> expected(int depth, bool drawn, double errors) const;

  /// The drafter has proposed children of a node at depth - 1, with these log-probabilities by rank; none: it
  /// had nothing to say.
  void drafted(int depth, std::span<const float> log_probs);
  /// The target has said whether a child of an accepted node is its own next token.
  void outcome(double log_prob, int depth, bool accepted);
  void drawn_outcome(int depth, int rank, bool accepted);
  /// A round goes by. What is known of a drafter that learns is soon out of date.
  void pass(bool learns = false);

  DrafterBelief& belief() { return belief_; }

 private:
  void learn_shift(double error, double probability);

  DrafterBelief& belief_;
  bool learns_ = false;
  double shift_ = 0;  ///< of this text's log-odds over the drafter's
  double variance_;   ///< of both shifts together
  double settled_;    ///< the same, if the text did not wander: what it can still say of the drafter
};

}  // namespace augur
