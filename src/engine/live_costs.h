#pragma once
#include <map>
#include <string>

#include "augur/engine.h"
#include "base/clock.h"
#include "decode/decoder.h"
#include "cost/cost_cache.h"
#include "engine/drafters.h"

namespace augur {

/// Sees to it that a decoder's costs are known before a policy decides by them: from the cache, or measured.
/// What was measured beside a busy program, or is contradicted by steps that are faster, is measured again.
/// What the machine has shown it can do since goes back to the cache. One thread at a time.
class LiveCosts {
 public:
  /// References outlive this.
  LiveCosts(Model& target, Decoder& decoder, const Drafters& drafters, CostCache cache);
  ~LiveCosts();
  LiveCosts(const LiveCosts&) = delete;
  LiveCosts& operator=(const LiveCosts&) = delete;

  /// Of the target, and of what a resolved plan drafts with. `anew`: whatever the cache says. `idle`: nobody
  /// waits for the decoder meanwhile, so that what is in doubt may be measured again, now and then.
  void prepare(const SpeculationPlan& plan, bool anew = false, bool idle = false);
  /// What is known now; measures nothing.
  MeasuredCosts report() const;

 private:
  bool prepare_target(bool anew, bool again);
  bool prepare_drafter(const std::string& name, const SpeculationPlan& plan, bool anew, bool again);
  bool may_repeat();
  void store();

  Model& target_;
  Decoder& decoder_;
  const Drafters& drafters_;
  CostCache cache_;
  bool target_known_ = false;
  Stopwatch since_measured_;
  double pause_ms_;                           ///< before what is in doubt is measured again
  std::map<std::string, std::string> known_;  ///< keys in the cache, by the drafter's name
};

}  // namespace augur
