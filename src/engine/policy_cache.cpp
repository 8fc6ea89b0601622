#include "engine/policy_cache.h"

#include <algorithm>
#include <variant>

#include "plan/keys.h"
#include "policy/host_policy.h"

namespace augur {
namespace {

SpeculationPlan key_of(const SpeculationPlan& plan) {
  SpeculationPlan key{.drafters = plan.drafters};
  for (const PlanKey& row : plan_keys()) {
    if (row.for_policies()) std::visit([&](auto member) { key.*member = plan.*member; }, row.member);
  }
  std::sort(key.drafters.begin(), key.drafters.end());
  return key;
}

}  // namespace

PolicyCache::Found PolicyCache::get(const SpeculationPlan& plan, const std::filesystem::path* parts) {
  SpeculationPlan key = key_of(plan);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  const bool fresh = found == entries_.end();
  if (!fresh) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    std::shared_ptr<PolicyModel> model = load(key, parts);
    entries_.push_front({std::move(key), std::move(model)});
    if (entries_.size() > kKept) entries_.pop_back();
  }
  return {entries_.front().model, fresh};
}

std::shared_ptr<PolicyModel> PolicyCache::load(const SpeculationPlan& key,
                                               const std::filesystem::path* parts) const {
  const auto custom = custom_.find(key.policy.name);
  if (custom != custom_.end()) return make_host_policy(custom->second, key.policy.settings);
  return load_policy(key, &target_, parts == nullptr ? parts_ : *parts);
}

void PolicyCache::forget_learnt() {
  for (const Entry& entry : entries_) entry.model->forget_learnt();
}

}  // namespace augur
