#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "policy/auto/node_score.h"
#include "policy/auto/score_choice.h"
#include "policy/step_trace.h"

namespace augur {

/// What one drafter and scores have said about its candidates in one round, until it is known what came of
/// them. All children of accepted nodes count, verified or not: what the target said there tells of each, and
/// of whoever else proposed it. One per drafter and sequence; candidates that were drawn (the Sampled law)
/// are not for it: what is verified must not depend on which token was drawn.
class ScoreBook {
 public:
  /// References outlive this.
  ScoreBook(ScoreChoice& choice, std::span<NodeScore* const> scores);

  /// Whether there are no scores: the drafter's own probability is all there is.
  bool empty() const { return scores_.empty(); }
  NodeWants wants() const;
  void begin_round();
  /// a(v) of a node by the score that is believed, or `own`, the drafter's calibrated probability, where that
  /// says nothing. Nodes come in the tree's order.
  double weigh(const DraftTree& tree, std::int32_t node, double own);
  /// The same for a node that was weighed and has been expanded since.
  double weigh_again(const DraftTree& tree, std::int32_t node);
  /// `own` learns, too: it turns the drafter's probabilities into a(v).
  void learn(const StepTrace& trace, Calibrator& own);

 private:
  struct Entry {
    std::int32_t parent = -1;
    TokenId token = -1;
    int depth = 0;
    double log_prob = 0;
    double own = 0;
    bool accepted = false;
  };
  std::span<NodeScore::Reading> readings(std::size_t entry);
  double believed(std::size_t entry);

  ScoreChoice& choice_;
  std::vector<NodeScore*> scores_;
  std::vector<Entry> entries_;                ///< by node, the root first
  std::vector<NodeScore::Reading> readings_;  ///< [entries, scores]
};

}  // namespace augur
