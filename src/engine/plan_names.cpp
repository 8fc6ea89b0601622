#include "engine/plan_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "draft/registry.h"
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
      throw Error(refused("speculative"), "speculation type '{}' is given twice", given);
    }
  }
  if (names.size() > 1 && std::find(names.begin(), names.end(), "none") != names.end()) {
    throw Error(refused("speculative"), "speculation type 'none' stands alone");
  }
  if (!plan.policy.name.empty()) find_policy_type(plan.policy.name);
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : plan.drafter_settings) {
    const std::size_t dot = key.find('.');
    const std::string name = std::string(find_drafter_type(key.substr(0, dot)).name) + key.substr(dot);
    if (!settings.emplace(name, value).second)
      throw Error(refused("speculative"), "drafter setting {} is given twice", name);
  }
  plan.drafter_settings = std::move(settings);
}

}  // namespace augur
