#include "engine/resolved_plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "draft/registry.h"
#include "engine/plan_names.h"
#include "plan/keys.h"
#include "policy/registry.h"

namespace augur {
namespace {

constexpr std::string_view kNoOwn =
    " (the model has no layers of its own that draft, or they are not loaded)";

/// One engine has one vocabulary: what the plan asks for is that, or it is refused.
void name_vocabulary(SpeculationPlan& plan, const LoadedDrafts& loaded) {
  std::string& asked = plan.draft_vocabulary;
  const std::string has = to_string(*loaded.vocabulary);
  if (!asked.empty() && VocabularySpec::parse(asked).located(loaded.parts) != *loaded.vocabulary) {
    throw Error(refused("draft_vocabulary"),
                "draft vocabulary '{}': this engine was loaded with '{}', and one engine has one", asked,
                has);
  }
  asked = has;
}

/// Error for a policy of the host program that there is not.
void check_users_policy(const std::string& name, const std::vector<std::string>& policies) {
  if (names_users(name) && std::find(policies.begin(), policies.end(), name) == policies.end()) {
    throw Error(refused("speculative"), "unknown speculation policy '{}'; of the program's own there are: {}",
                name, policies.empty() ? "none" : fmt::format("{}", fmt::join(policies, ", ")));
  }
}

}  // namespace

SpeculationPlan resolve(SpeculationPlan plan, const LoadedDrafts& loaded) {
  const std::string& head = loaded.head;
  const std::vector<std::string>& named = loaded.named;
  check_plan(plan);
  if (plan.drafters.empty()) {
    plan.drafters.emplace_back(head.empty() ? "none" : head);
    // Looking a text up costs next to nothing, and auto measures what it brings.
    if (!head.empty() && policy_of(plan).name == "auto") plan.drafters.emplace_back("ngram");
  }
  for (std::string& name : plan.drafters) {
    if (name != "auto") continue;
    if (head.empty())
      throw Error(refused("speculative"), "speculation type 'auto' needs a draft model, and none was given{}",
                  kNoOwn);
    name = head;
  }
  use_canonical_names(plan);
  for (const std::string& name : plan.drafters) {
    if (names_users(name)) {
      if (std::find(named.begin(), named.end(), name) != named.end()) continue;
      throw Error(refused("speculative"),
                  "speculation type '{}' names a draft model or a drafter of the program's own, and {}", name,
                  named.empty() ? "none was given by a name"
                                : fmt::format("those that there are: {}", fmt::join(named, ", ")));
    }
    if (name == "none" || name == head || !find_drafter_type(name).needs_head) continue;
    const bool own = find_drafter_type(name).in_models;
    throw Error(refused("speculative"), "speculation type '{}' needs a draft model, and {}", name,
                head.empty() ? fmt::format("none was given{}", own ? kNoOwn : "")
                             : fmt::format("the one given is used as '{}'", head));
  }
  check_users_policy(plan.policy.name, loaded.policies);
  if (!plan.plain()) check_limits(plan, &PlanKey::field);
  plan.policy = policy_of(plan);
  if (loaded.vocabulary != nullptr) name_vocabulary(plan, loaded);
  return plan;
}

}  // namespace augur
