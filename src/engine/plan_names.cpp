#include "engine/plan_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "draft/registry.h"
#include "policy/registry.h"

namespace augur {

std::string users_name(std::string_view field, std::string_view name, std::span<const std::string> taken) {
  const bool fine = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (name.empty() || !fine) {
    throw Error(refused(std::string(field)), "{}: '{}': a name is to be of letters, digits, '.', '_' and '-'",
                field, name);
  }
  std::string whole = fmt::format("@{}", name);
  if (std::find(taken.begin(), taken.end(), whole) != taken.end())
    throw Error(refused(std::string(field)), "{}: '{}': there are two of this name", field, name);
  return whole;
}

void use_canonical_names(SpeculationPlan& plan) {
  std::vector<std::string>& names = plan.drafters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string given = names[i];
    if (given == "none" || given == "plain") {
      names[i] = "none";
    } else if (given != "auto" && !names_users(given)) {
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
  if (!plan.policy.name.empty() && !names_users(plan.policy.name)) find_policy_type(plan.policy.name);
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : plan.drafter_settings) {
    const std::size_t dot = key.find('.');
    const std::string name =
        names_users(key) ? key : std::string(find_drafter_type(key.substr(0, dot)).name) + key.substr(dot);
    if (!settings.emplace(name, value).second)
      throw Error(refused("speculative"), "drafter setting {} is given twice", name);
  }
  plan.drafter_settings = std::move(settings);
}

}  // namespace augur
