#pragma once
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "augur/custom_policy.h"
#include "augur/plan.h"
#include "policy/registry.h"

namespace augur {

/// The policies that an engine's requests have used, with what each has learned. There is one for every
/// combination of a plan's drafters, because a drafter's gain depends on the others. The drafter that a
/// request adds (drafter_beside()) does not count, so that one controller steers the whole batch. The most
/// recently used ones are kept; generations share ownership of theirs. For one thread at a time.
class PolicyCache {
 public:
  /// `parts`: folder of the drafter's learned parts; empty: none. `target` must outlive the cache.
  /// `custom`: the host program's policies by "@NAME".
  PolicyCache(Model& target, std::filesystem::path parts, std::map<std::string, CustomPolicyType> custom = {})
      : target_(target), parts_(std::move(parts)), custom_(std::move(custom)) {}

  struct Found {
    std::shared_ptr<PolicyModel> policy;
    bool fresh = false;  ///< it was loaded by this call
  };
  /// For a resolved plan with drafters. `parts`: the folder to use instead of the constructor's. Throws Error
  /// for invalid settings.
  Found get(const SpeculationPlan& plan, const std::filesystem::path* parts = nullptr);
  /// Calls PolicyModel::forget_learnt() for all of them.
  void forget_learnt();

 private:
  static constexpr std::size_t kKept = 16;
  struct Entry {
    SpeculationPlan
        key;  ///< the parts of a plan that the policy is made from; drafters in alphabetical order
    std::shared_ptr<PolicyModel> model;
  };

  std::shared_ptr<PolicyModel> load(const SpeculationPlan& key, const std::filesystem::path* parts) const;

  Model& target_;
  std::filesystem::path parts_;
  std::map<std::string, CustomPolicyType> custom_;
  std::list<Entry> entries_;  ///< most recently used first
};

}  // namespace augur
