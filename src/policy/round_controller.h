#pragma once
#include "policy/policy.h"
#include "policy/step_trace.h"

namespace augur {

/// Looks at a sequence's rounds as a whole, where the policies of its drafters see one drafter each: whether
/// to speculate, with which drafters, and which nodes of the merged tree are verified. One per sequence, one
/// thread at a time. Per round: begin_round; the drafters' policies; cut; then, after verification, observe.
class RoundController {
 public:
  virtual ~RoundController() = default;

  /// `round` holds no drafter. `sampled`: drafters with a law will draw their candidates (ProposalLaw).
  virtual void begin_round(const RoundInfo& round, bool sampled) = 0;
  /// Keeps of the merged tree what is to be verified. `tree` may be the root alone.
  virtual void cut(DraftTree& tree) = 0;
  /// What the round was expected to bring. Asked after cut().
  virtual StepForecast forecast() const = 0;
  virtual void observe(const StepTrace& trace) = 0;
};

}  // namespace augur
