#include "policy/registry.h"

#include <utility>

#include "base/error.h"
#include "io/part_location.h"
#include "model/model.h"

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

const Fingerprint* PolicySource::fingerprint() const {
  return target == nullptr ? nullptr : &target->fingerprint();
}

std::filesystem::path PolicySource::part() const {
  const std::string& name = arguments.name();
  if (const std::string named = arguments.text("model"); !named.empty()) return named;
  return require_part(parts, name, "policy " + name, name + ":model=FOLDER");
}

std::unique_ptr<PolicyModel> load_policy(const SpeculationPlan& plan, Model* target,
                                         std::filesystem::path parts) {
  PolicyArguments arguments(plan);
  std::unique_ptr<PolicyModel> model =
      find_policy_type(arguments.name())
          .load({.arguments = arguments, .target = target, .parts = std::move(parts)});
  arguments.check_all_read();
  return model;
}

SequencePolicies PolicyModel::make_all(std::span<const DrafterIdentity> drafters) {
  SequencePolicies policies;
  for (const DrafterIdentity& drafter : drafters) policies.by_drafter.push_back(make(drafter));
  return policies;
}

}  // namespace augur
