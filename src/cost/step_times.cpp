#include "cost/step_times.h"

#include <algorithm>

#include "cost/yardsticks.h"

namespace augur {

void StepTimes::observe(const StepRows& rows, const Measured& step) {
  const double ms = step.forward_ms + step.logits_ms;
  if (!(ms > 0)) return;
  if (rows.prompts == 0) {
    const double share = std::min(step.logits_ms / ms, 1 - kNegligible);
    logits_share_ += (logits_share_ == 0 ? 1 : kRecent) * (share - logits_share_);
    costs_.observe_step(rows.all(), rows.context(), ms, step.other_ms, step.experts);
  } else if (logits_share_ > 0) {
    costs_.observe_step(rows.all(), rows.context(), step.forward_ms / (1 - logits_share_), 0, step.experts);
  }
}

double StepTimes::trees_ms(const StepRows& rows, const Measured& step) const {
  const double ms = step.forward_ms + step.logits_ms;
  if (rows.prompts == 0) return ms;
  if (rows.trees == 0) return 0;  // there is no price of no rows
  const double trees = costs_.verify_ms(rows.trees, rows.tree_context);
  const double all =
      (1 - logits_share_) * costs_.verify_ms(rows.all(), rows.context()) + logits_share_ * trees;
  return ms * std::min(1.0, trees / all);
}

}  // namespace augur
