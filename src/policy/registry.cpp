#include "policy/registry.h"

#include <utility>

#include "base/error.h"

namespace augur {

// The loaders of the list, declared, then the list itself.
#define AUGUR_POLICY(load, name, summary) std::unique_ptr<PolicyModel> load(const PolicySource&);
#include "policy/policy_types.inc"
#undef AUGUR_POLICY

std::span<const PolicyType> policy_types() {
#define AUGUR_POLICY(load, name, summary) {name, summary, load},
  static constexpr PolicyType kTypes[] = {
#include "policy/policy_types.inc"
  };
#undef AUGUR_POLICY
  return kTypes;
}

const PolicyType& find_policy_type(std::string_view name) {
  std::string known;
  for (const PolicyType& type : policy_types()) {
    if (name == type.name) return type;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
  }
  throw Error("unknown speculation policy '{}'; known: {}", name, known);
}

std::unique_ptr<PolicyModel> load_policy(const std::string& text, const PolicyLimits& limits, Model* target,
                                         std::string target_path) {
  PolicyArguments arguments(text);
  std::unique_ptr<PolicyModel> model = find_policy_type(arguments.name())
                                           .load({.arguments = arguments,
                                                  .limits = limits,
                                                  .target = target,
                                                  .target_path = std::move(target_path)});
  arguments.check_all_read();
  return model;
}

SequencePolicies PolicyModel::make_all(std::span<const DrafterSeat> drafters) {
  SequencePolicies policies;
  for (const DrafterSeat& drafter : drafters) policies.by_drafter.push_back(make(drafter));
  return policies;
}

}  // namespace augur
