// A limit that a policy would ignore is refused, and what the table says is what policies do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "policy/registry.h"
#include "support/error_of.h"
#include "support/policy_forms.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::error_of;
using testing_support::policy_forms;
using testing_support::policy_names;
using testing_support::policy_plan;

/// A plan with that policy, NAME[:KEY=VALUE,...], and one limit.
SpeculationPlan limited(const std::string& policy, std::string_view key, std::string_view value) {
  SpeculationPlan plan = policy_plan(policy);
  set_value(plan, find_plan_key(key), value);
  return plan;
}

class PolicyLimits : public testing::TestWithParam<std::string> {
 protected:
  PolicyLimits() { testing_support::write_random_parts(parts_.path(), 8); }

  /// Forms of the policy that need no target.
  std::vector<std::string> forms() const {
    std::vector<std::string> forms = policy_forms(GetParam());
    std::erase_if(forms, [&](const std::string& form) {
      return form.starts_with("acceptance") && form.find("model=none") == std::string::npos;
    });
    if (GetParam() == "acceptance") forms.emplace_back("acceptance:chain=1,model=none");
    return forms;
  }
  testing_support::TemporaryFolder parts_;
};

TEST_P(PolicyLimits, AreThoseThatItReads) {
  for (const std::string& form : forms()) {
    for (const PlanKey& limit : plan_keys()) {
      if (limit.shape == PlanKey::Shape::None) continue;
      // The bins among the parts are for a depth of 3.
      const SpeculationPlan plan = limited(form, limit.key,
                                           limit.key == "tree"    ? "mc_sim_7b_63"
                                           : limit.key == "depth" ? "3"
                                                                  : fmt::format("{}", limit.usual));
      SCOPED_TRACE(form + " with " + std::string(limit.key));
      const bool says = reads(plan.policy, limit);
      const std::string refused = error_of([&] { check_limits(plan); });
      const std::string loaded = error_of([&] { load_policy(plan, nullptr, parts_.path()); });
      if (says) {
        EXPECT_EQ(refused, "no error");
        EXPECT_EQ(loaded, "no error");
      } else {
        EXPECT_THAT(refused, StartsWith(std::string(limit.key) + ": policy " + plan.policy.name));
        EXPECT_THAT(loaded, HasSubstr(std::string(limit.key) + ": with these settings it is not read"));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, PolicyLimits, testing::ValuesIn(policy_names()),
                         [](const auto& test) { return test.param; });

TEST(CheckLimits, NamesTheFlagAndThePoliciesThatReadIt) {
  EXPECT_THAT(error_of([] { check_limits(limited("chain", "topk", "9"), &PlanKey::flag); }),
              AllOf(StartsWith("--spec-tree-topk: policy chain does not read it"),
                    HasSubstr("eagle2, adaedl:tree=1"), HasSubstr("acceptance:chain=0")));
  EXPECT_THAT(error_of([] { check_limits(limited("eagle2", "tree", "mc_sim_7b_63")); }),
              HasSubstr("one of the policies static"));
  EXPECT_THAT(error_of([] { check_limits(limited("auto", "n-max", "4")); }),
              HasSubstr("n-max: policy auto decides that itself"));
}

TEST(CheckLimits, OfAPlanWithoutAPolicyIsOfTheOneThatItsLimitsAskFor) {
  const auto refusal = [](const char* limits) {
    SpeculationPlan plan;
    apply(split_plan(std::string("draft:") + limits), plan);
    return error_of([&] { check_limits(plan); });
  };
  EXPECT_EQ(refusal("topk=3,n-max=5"), "no error") << "look-ups beside a tree draft chains";
  EXPECT_EQ(refusal("topk=1,n-max=5"), "no error") << "one candidate per node is a chain";
  EXPECT_THAT(refusal("topk=1,depth=5"), HasSubstr("depth: policy chain"));
  EXPECT_THAT(refusal("tree=mc_sim_7b_63,size=9"), HasSubstr("size: policy static"));
}

}  // namespace
}  // namespace augur
