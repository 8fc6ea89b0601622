#include "decode/speculation.h"

#include <utility>

#include "policy/registry.h"

namespace augur {

void Speculation::steer_by(PolicyModel& policy) {
  std::vector<DrafterIdentity> identities;
  for (const Speculator& s : drafters) {
    identities.push_back({std::string(s.cost_name()), s.drafter->traits()});
  }
  SequencePolicies policies = policy.make_all(identities);
  for (std::size_t i = 0; i < drafters.size(); ++i) drafters[i].policy = std::move(policies.by_drafter[i]);
  steering = std::move(policies.steering);
}

}  // namespace augur
