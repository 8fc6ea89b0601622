#include "policy/arguments.h"

#include "base/error.h"
#include "plan/keys.h"

namespace augur {

PolicyArguments::PolicyArguments(const SpeculationPlan& plan)
    : OwnSettings("policy " + plan.policy.name, {plan.policy.settings.begin(), plan.policy.settings.end()}),
      plan_(plan) {}

int PolicyArguments::limit(std::optional<int> SpeculationPlan::*limit, std::string_view own,
                           std::optional<int> usual) {
  const PlanKey& key = key_of(limit);
  read_limits_.insert(key.key);
  const int fallback = (plan_.*limit).value_or(usual.value_or(static_cast<int>(key.usual)));
  return integer(std::string(own.empty() ? key.key : own), fallback, static_cast<int>(key.least),
                 static_cast<int>(key.most));
}

double PolicyArguments::limit(std::optional<double> SpeculationPlan::*limit) {
  const PlanKey& key = key_of(limit);
  read_limits_.insert(key.key);
  return number(std::string(key.key), value_of(plan_, limit), key.least, key.most);
}

std::string PolicyArguments::limit(std::string SpeculationPlan::*limit) {
  const PlanKey& key = key_of(limit);
  read_limits_.insert(key.key);
  return text(std::string(key.key), plan_.*limit);
}

void PolicyArguments::check_all_read() const {
  OwnSettings::check_all_read();
  for (const PlanKey& limit : plan_keys()) {
    if (limit.shape == PlanKey::Shape::None || !is_given(plan_, limit)) continue;
    if (read_limits_.count(limit.key) > 0) continue;
    throw Error(refused("speculative"), "policy {}: {}: with these settings it is not read", name(),
                limit.key);
  }
}

}  // namespace augur
