#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/registry.h"

namespace augur::testing_support {

/// The ways in which a registered policy is tested, NAME[:SETTINGS]: by its bare name, unless it has settings
/// that change what it does, or that make it stop early where heads are untrained.
inline std::vector<std::string> policy_forms(std::string_view name) {
  static const std::multimap<std::string_view, const char*> kSettings = {
      {"static", "tree=mc_sim_7b_63"},
      {"adaedl", "n-max=5,threshold=0.1,gamma=0.1"},
      {"adaedl", "tree=1,threshold=0.1,gamma=0.1"},
      {"svip", "n-max=5,threshold=0.85"},
      {"dymax", "n-max=5,threshold=0.02"},
      {"djoint", "n-max=5,threshold=0.001"},
      {"c2t", "depth=4,children=3,beta=0.5"},
      {"c2t", "chain=1,depth=4,beta=0.45"},
      {"hetero", "topk=3,size=16"},
      {"acceptance", "topk=3,size=16,k-max=5,model=none"},
      {"acceptance", "topk=3,size=16,k-max=5,h=0.6"},
      {"acceptance", "chain=1,k-max=5,h=0.5"},
  };
  std::vector<std::string> forms;
  const auto [begin, end] = kSettings.equal_range(name);
  for (auto it = begin; it != end; ++it) forms.push_back(std::string(name) + ":" + it->second);
  if (forms.empty()) forms.emplace_back(name);
  return forms;
}

/// For INSTANTIATE_TEST_SUITE_P.
inline std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicyType& type : policy_types()) names.emplace_back(type.name);
  return names;
}

}  // namespace augur::testing_support
