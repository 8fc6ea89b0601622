#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "api/cost_cache.h"
#include "api/generation.h"
#include "decode/decoder.h"

namespace augur {

/// Sees to it that a decoder's costs are known before a policy decides by them: from the cache, or measured;
/// what the decoder has learned since goes back to the cache. One thread at a time.
class LiveCosts {
 public:
  /// `draft_identity`: of the draft model that was loaded, if any. References outlive this.
  LiveCosts(Model& target, Decoder& decoder, std::span<const LoadedDrafter> drafters, CostCache cache,
            std::string draft_identity);
  ~LiveCosts();
  LiveCosts(const LiveCosts&) = delete;
  LiveCosts& operator=(const LiveCosts&) = delete;

  /// Of the target, and of what `options` drafts with. `anew`: whatever the cache says.
  void prepare(const SpeculationOptions& options, bool anew = false);
  /// What is known now; measures nothing.
  MeasuredCosts report() const;

 private:
  struct Known {
    std::string name;  ///< that the decoder knows it by
    std::string key;   ///< in the cache
  };
  const LoadedDrafter& find(const std::string& name) const;
  void store();

  Model& target_;
  Decoder& decoder_;
  std::span<const LoadedDrafter> drafters_;
  CostCache cache_;
  std::string draft_identity_;
  bool target_known_ = false;
  std::map<std::string, Known> known_;  ///< by the drafter's type
};

}  // namespace augur
