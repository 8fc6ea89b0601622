#pragma once
#include <map>
#include <span>
#include <string>

#include "base/clock.h"
#include "cost/cost_cache.h"
#include "cost/cost_probe.h"

namespace augur {

/// A drafter whose costs are to be known.
struct ProbedDrafter {
  std::string name;  ///< CostModel::drafter()
  /// What tells its costs from those of others of that name: where the file has them. One that begins with
  /// '@' is kept in no file.
  std::string key;
  DraftProbe draft;
};

/// Sees to it that costs are known before a policy decides by them: from the cache, or measured. What was
/// measured beside a busy program, or is contradicted by steps that are faster, is measured again. What the
/// machine has shown it can do since goes back to the cache. One thread at a time.
class LiveCosts {
 public:
  /// `costs`: followed by the decoder, which runs nothing while prepare() does. References outlive this.
  LiveCosts(Model& target, CostModel& costs, CostCache cache, OverheadProbe overhead_ms);
  ~LiveCosts();
  LiveCosts(const LiveCosts&) = delete;
  LiveCosts& operator=(const LiveCosts&) = delete;

  /// Of the target and these drafters. `anew`: whatever the cache says. `idle`: nobody waits for the decoder
  /// meanwhile, so that what is in doubt may be measured again, now and then.
  void prepare(std::span<const ProbedDrafter> drafters, bool anew = false, bool idle = false);

  const CostModel& costs() const { return costs_; }
  /// Whether the target's have been prepared; and the drafters whose have been, with their keys.
  bool target_known() const { return target_known_; }
  const std::map<std::string, std::string>& drafters_known() const { return known_; }
  const std::filesystem::path& file() const { return cache_.file(); }

 private:
  bool prepare_target(bool anew, bool again);
  bool prepare_drafter(const ProbedDrafter& drafter, bool anew, bool again);
  bool may_repeat();
  void store();

  Model& target_;
  CostModel& costs_;
  CostCache cache_;
  OverheadProbe overhead_ms_;
  bool target_known_ = false;
  Stopwatch since_measured_;
  double pause_ms_;                           ///< before what is in doubt is measured again
  std::map<std::string, std::string> known_;  ///< keys in the cache, by the drafter's name
};

}  // namespace augur
