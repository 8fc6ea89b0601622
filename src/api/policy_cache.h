#pragma once
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "augur/options.h"
#include "policy/registry.h"

namespace augur {

/// The policies that an engine's requests have asked for, with what they have learned: of every combination
/// of drafters apart, as what one of them gains depends on the others. The ones used last are kept;
/// generations hold on to theirs. One thread at a time.
class PolicyCache {
 public:
  PolicyCache(Model& target, std::string target_path)
      : target_(target), target_path_(std::move(target_path)) {}

  struct Found {
    std::shared_ptr<PolicyModel> policy;
    bool fresh = false;  ///< it was loaded just now
  };
  /// Error for a policy that is unknown, or settings that are not as they must be.
  Found get(const SpeculationOptions& options);

 private:
  static constexpr std::size_t kKept = 16;
  struct Entry {
    std::string text;
    PolicyLimits limits;
    std::vector<std::string> drafters;  ///< in alphabetical order
    std::shared_ptr<PolicyModel> model;
  };

  Model& target_;
  std::string target_path_;
  std::list<Entry> entries_;  ///< the one used last first
};

}  // namespace augur
