#include "policy/registry.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "files/part_location.h"
#include "model/model.h"

namespace augur {

// The loaders of the list, declared, then the list itself.
#define AUGUR_POLICY(load, ...) std::unique_ptr<PolicyModel> load(const PolicySource&);
#include "policy/policy_types.inc"
#undef AUGUR_POLICY

std::span<const PolicyType> policy_types() {
  using Suite = PolicyType::Suite;
#define AUGUR_POLICY(loader, ...) {.load = loader, __VA_ARGS__},
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
  throw Error(refused("speculative"), "unknown speculation policy '{}'; known: {}", name, known);
}

namespace {

/// What PolicyType::limits says of the limit; empty: nothing.
std::string_view mention(const PolicyType& policy, const PlanKey& limit) {
  std::string_view rest = policy.limits;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word.substr(0, word.find_first_of("?!")) == limit.key) return word;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return {};
}

}  // namespace

bool reads(const PolicyChoice& policy, const PlanKey& limit) {
  const std::string_view word = mention(find_policy_type(policy.name), limit);
  const std::size_t mark = word.find_first_of("?!");
  if (mark == std::string_view::npos) return !word.empty();
  const auto flag = policy.settings.find(std::string(word.substr(mark + 1)));
  const bool on = flag != policy.settings.end() && flag_of(flag->second).value_or(false);
  return on == (word[mark] == '?');
}

void check_limits(const SpeculationPlan& plan, std::string_view PlanKey::*name) {
  const PolicyChoice policy = policy_of(plan);
  const bool custom = policy.name.starts_with('@');  // the host program's, which reads settings alone
  for (const PlanKey& limit : plan_keys()) {
    if (limit.shape == PlanKey::Shape::None || !is_given(plan, limit)) continue;
    if (custom)
      throw Error(refused("speculative"), "{}: policy {} does not read it: expected settings of the policy",
                  limit.*name, policy.name);
    if (reads(policy, limit)) continue;
    // One candidate per node is a chain.
    const bool one = limit.key == key_of(&SpeculationPlan::tree_topk).key && plan.tree_topk == 1;
    if (one && policy.name == "chain") continue;
    const PolicyType& type = find_policy_type(policy.name);
    if (type.limits.empty()) {
      throw Error(refused("speculative"),
                  "{}: policy {} decides that itself: expected it without, or another policy", limit.*name,
                  policy.name);
    }
    std::string readers;
    for (const PolicyType& other : policy_types()) {
      const std::string_view word = mention(other, limit);
      if (word.empty()) continue;
      const std::size_t mark = word.find_first_of("?!");
      const std::string with = mark == std::string_view::npos
                                   ? std::string()
                                   : fmt::format(":{}={}", word.substr(mark + 1), word[mark] == '?' ? 1 : 0);
      readers += fmt::format("{}{}{}", readers.empty() ? "" : ", ", other.name, with);
    }
    throw Error(refused("speculative"),
                "{}: policy {} does not read it: expected it without, or one of the policies {}", limit.*name,
                policy.name, readers);
  }
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
  policies.steering.tree_nodes = merged_nodes();
  return policies;
}

}  // namespace augur
