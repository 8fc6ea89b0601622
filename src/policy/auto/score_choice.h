#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "policy/auto/calibrator.h"
#include "policy/auto/node_score.h"
#include "policy/auto/running_mean.h"

namespace augur {

/// Which score of one drafter's nodes is believed: the drafter's own probability until another, calibrated on
/// the same outcomes, has had the smaller running log-loss by a margin; and that one until it no longer has.
/// One per drafter and engine: what a text has shown holds for the next.
class ScoreChoice {
 public:
  static constexpr int kOwn = -1;
  /// Nats per node by which another score must be better to be taken, and the outcomes that this takes.
  static constexpr double kMargin = 0.01;
  static constexpr double kFewest = 100;
  static constexpr double kMemory = 512;  ///< outcomes that the running loss is a mean of

  /// Makes room for these scores; what is known stays when it has been called with as many before.
  void prepare(std::span<NodeScore* const> scores);

  /// The score that is believed: kOwn, or an index.
  int chosen() const { return chosen_; }
  /// a(v) by score `i`.
  double acceptance(std::size_t i, const NodeScore::Reading& reading, int depth) const;
  /// What came of a node of which the drafter's own calibrated a(v) was `own`. `readings`: by score.
  void observe(std::span<const NodeScore::Reading> readings, double own, int depth, bool accepted);

  /// Nats per node by which score `i` has lately been better than the drafter's own probability.
  double advantage(std::size_t i) const { return beliefs_[i].advantage.mean(); }

 private:
  struct Belief {
    std::vector<Calibrator> by_stratum;
    RunningMean advantage;
  };
  std::vector<Belief> beliefs_;
  int chosen_ = kOwn;
};

}  // namespace augur
