#pragma once
#include <filesystem>
#include <list>
#include <memory>
#include <utility>

#include "augur/plan.h"
#include "policy/registry.h"

namespace augur {

/// The policies that an engine's requests have asked for, with what they have learned: of every combination
/// of a plan's drafters apart, as what one of them gains depends on the others. What a request brings beside
/// them (drafter_beside()) makes no difference, so that one controller has the whole batch. The ones used
/// last are kept; generations hold on to theirs. One thread at a time.
class PolicyCache {
 public:
  /// `parts`: folder of the drafter's learned parts; empty: none.
  PolicyCache(Model& target, std::filesystem::path parts) : target_(target), parts_(std::move(parts)) {}

  struct Found {
    std::shared_ptr<PolicyModel> policy;
    bool fresh = false;  ///< it was loaded just now
  };
  /// For a resolved plan with drafters. `parts`: of what drafts, where it is not the one above. Error for
  /// settings that are not as they must be.
  Found get(const SpeculationPlan& plan, const std::filesystem::path* parts = nullptr);
  /// Of all of them: PolicyModel::forget_learnt().
  void forget_learnt();

 private:
  static constexpr std::size_t kKept = 16;
  struct Entry {
    SpeculationPlan key;  ///< of a plan what the policy is made from; its drafters in alphabetical order
    std::shared_ptr<PolicyModel> model;
  };

  Model& target_;
  std::filesystem::path parts_;
  std::list<Entry> entries_;  ///< the one used last first
};

}  // namespace augur
