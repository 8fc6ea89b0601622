#pragma once
#include <map>
#include <string>

#include "api/cost_cache.h"
#include "api/drafters.h"
#include "augur/engine.h"
#include "decode/decoder.h"

namespace augur {

/// Sees to it that a decoder's costs are known before a policy decides by them: from the cache, or measured;
/// what the decoder has learned since goes back to the cache. One thread at a time.
class LiveCosts {
 public:
  /// References outlive this.
  LiveCosts(Model& target, Decoder& decoder, const Drafters& drafters, CostCache cache);
  ~LiveCosts();
  LiveCosts(const LiveCosts&) = delete;
  LiveCosts& operator=(const LiveCosts&) = delete;

  /// Of the target, and of what a resolved plan drafts with. `anew`: whatever the cache says.
  void prepare(const SpeculationPlan& plan, bool anew = false);
  /// What is known now; measures nothing.
  MeasuredCosts report() const;

 private:
  void store();

  Model& target_;
  Decoder& decoder_;
  const Drafters& drafters_;
  CostCache cache_;
  bool target_known_ = false;
  std::map<std::string, std::string> known_;  ///< keys in the cache, by the drafter's name
};

}  // namespace augur
