#pragma once
#include "cost/cost.h"

namespace augur {

/// Rows of one step of the target.
struct StepRows {
  double trees = 0;         ///< of trees: with their logits
  double prompts = 0;       ///< of prompts: without
  double tree_context = 0;  ///< tokens that a row of a tree is behind, in the mean
  double prompt_context = 0;

  double all() const { return trees + prompts; }
  double context() const {
    return (trees * tree_context + prompts * prompt_context) / (all() > 0 ? all() : 1);
  }
};

/// Tells what steps have taken: the cost model, of rows with their logits; and those who steer drafts, of the
/// trees alone, as prices and ledgers are about decoding. Nothing allocates.
class StepTimes {
 public:
  /// `costs` outlives it.
  explicit StepTimes(CostModel& costs) : costs_(costs) {}

  struct Measured {
    double forward_ms = 0;
    double logits_ms = 0;  ///< what follows: logits, and the check of the drafts
    double other_ms = 0;
    double experts = 0;  ///< CostModel::observe_step
  };
  /// Corrects the costs by the step. Prompts have no logits: what these would have taken is known once a step
  /// of trees alone has been seen.
  void observe(const StepRows& rows, const Measured& step);
  /// What the step would have taken without the prompts: of its time the share that the trees have by the
  /// costs; 0 where there are none. Before observe().
  double trees_ms(const StepRows& rows, const Measured& step) const;

 private:
  CostModel& costs_;
  double logits_share_ = 0;  ///< of a step of trees alone, a running mean; 0: none has been seen
};

}  // namespace augur
