#include "engine/plan_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "draft/registry.h"
#include "plan/keys.h"
#include "plan/text.h"
#include "policy/registry.h"

namespace augur {

void use_canonical_names(SpeculationPlan& plan) {
  std::vector<std::string>& names = plan.drafters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string given = names[i];
    if (given == "none" || given == "plain") {
      names[i] = "none";
    } else if (given != "auto" && !names_draft_model(given)) {
      names[i] = find_drafter_type(given).name;
    }
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error("speculation type '{}' is given twice", given);
    }
  }
  if (names.size() > 1 && std::find(names.begin(), names.end(), "none") != names.end()) {
    throw Error("speculation type 'none' stands alone");
  }
  if (!plan.policy.name.empty()) find_policy_type(plan.policy.name);
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : plan.drafter_settings) {
    const std::size_t dot = key.find('.');
    const std::string name = std::string(find_drafter_type(key.substr(0, dot)).name) + key.substr(dot);
    if (!settings.emplace(name, value).second) throw Error("drafter setting {} is given twice", name);
  }
  plan.drafter_settings = std::move(settings);
}

SpeculationPlan resolve(SpeculationPlan plan, std::string_view head, std::span<const std::string> named) {
  check_plan(plan);
  if (plan.drafters.empty()) {
    plan.drafters.emplace_back(head.empty() ? "none" : head);
    // Looking a text up costs next to nothing, and auto measures what it brings.
    if (!head.empty() && policy_of(plan).name == "auto") plan.drafters.emplace_back("ngram");
  }
  for (std::string& name : plan.drafters) {
    if (name != "auto") continue;
    if (head.empty()) throw Error("speculation type 'auto' needs a draft model, and none was given");
    name = head;
  }
  use_canonical_names(plan);
  for (const std::string& name : plan.drafters) {
    if (names_draft_model(name)) {
      if (std::find(named.begin(), named.end(), name) != named.end()) continue;
      throw Error("speculation type '{}' names a draft model, and {}", name,
                  named.empty() ? "none was given by a name"
                                : fmt::format("those that there are: {}", fmt::join(named, ", ")));
    }
    if (name == "none" || name == head || !find_drafter_type(name).needs_head) continue;
    throw Error("speculation type '{}' needs a draft model, and {}", name,
                head.empty() ? "none was given" : fmt::format("the one given is used as '{}'", head));
  }
  if (!plan.plain()) check_limits(plan, &PlanKey::field);
  plan.policy = policy_of(plan);
  return plan;
}

SpeculationPlan SpeculationPlan::parse(std::string_view text, const SpeculationPlan& base) {
  SpeculationPlan plan = base;
  apply(split_plan(text), plan);
  use_canonical_names(plan);
  if (!plan.plain()) check_limits(plan);
  return plan;
}

}  // namespace augur
