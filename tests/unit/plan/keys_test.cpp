#include "plan/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::error_of;

/// The rows of numbers, with what is just in their range and just outside.
template <class T>
void for_each_number(const std::function<void(const PlanKey&, T SpeculationPlan::*)>& visit) {
  int visited = 0;
  for (const PlanKey& key : plan_keys()) {
    const auto* member = std::get_if<T SpeculationPlan::*>(&key.member);
    if (member == nullptr) continue;
    visit(key, *member);
    ++visited;
  }
  EXPECT_GT(visited, 0);
}

TEST(PlanKeys, HaveNamesOfTheirOwnAndSaySomething) {
  std::set<std::string_view> names;
  for (const PlanKey& key : plan_keys()) {
    for (const std::string_view name : {key.key, key.field, key.flag}) EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(key.key).second) << key.key;
    EXPECT_TRUE(names.insert(key.flag).second) << key.flag;
    EXPECT_THAT(std::string(key.flag), StartsWith("--"));
    EXPECT_FALSE(key.help.empty()) << key.key;
    EXPECT_LE(key.least, key.usual) << key.key;
    EXPECT_LE(key.usual, key.most) << key.key;
    EXPECT_EQ(&find_plan_key(key.key), &key);
  }
  EXPECT_THAT(error_of([] { find_plan_key("colour"); }), AllOf(HasSubstr("'colour'"), HasSubstr("n-max")));
}

TEST(PlanKeys, TakeNumbersInTheirRangeAndNoOthers) {
  for_each_number<std::optional<int>>([](const PlanKey& key, std::optional<int> SpeculationPlan::*member) {
    SpeculationPlan plan;
    EXPECT_EQ(value_of(plan, member), key.usual) << key.key;
    EXPECT_FALSE(is_given(plan, key));
    for (const double inside : {key.least, key.most}) {
      set_value(plan, key, fmt::format("{}", inside));
      EXPECT_EQ(plan.*member, static_cast<int>(inside));
      EXPECT_TRUE(is_given(plan, key));
    }
    for (const std::string& outside :
         {fmt::format("{}", key.least - 1), fmt::format("{}", key.most + 1), std::string("4.5"),
          std::string("4x"), std::string(), std::string("99999999999")}) {
      EXPECT_THAT(error_of([&] { set_value(plan, key, outside, &PlanKey::flag); }),
                  AllOf(StartsWith(std::string(key.flag) + ": "), HasSubstr("'" + outside + "'"),
                        HasSubstr(fmt::format("from {} to {}", key.least, key.most))));
      EXPECT_EQ(plan.*member, static_cast<int>(key.most)) << "a refused value leaves the one before";
    }
  });
  for_each_number<std::optional<double>>([](const PlanKey& key,
                                            std::optional<double> SpeculationPlan::*member) {
    SpeculationPlan plan;
    set_value(plan, key, "0.25");
    EXPECT_EQ(plan.*member, 0.25);
    for (const char* outside : {"-0.1", "1.1", "nan", "inf", "", "half"}) {
      EXPECT_THAT(error_of([&] { set_value(plan, key, outside); }), StartsWith(std::string(key.key) + ": "));
    }
  });
}

TEST(PlanKeys, TakeWordsSwitchesAndPolicies) {
  SpeculationPlan plan;
  set_value(plan, find_plan_key("verify"), "rejection");
  EXPECT_EQ(plan.verification, Verification::Rejection);
  EXPECT_THAT(error_of([&] { set_value(plan, find_plan_key("verify"), "hope"); }),
              AllOf(HasSubstr("walk, rejection"), HasSubstr("'hope'")));
  set_value(plan, find_plan_key("coupling"), "0");
  EXPECT_FALSE(plan.coupling);
  EXPECT_THAT(error_of([&] { set_value(plan, find_plan_key("coupling"), "yes"); }), HasSubstr("0 or 1"));
  set_value(plan, find_plan_key("policy"), "c2t:model=a/b:c,beta=0.5");
  EXPECT_EQ(plan.policy, (PolicyChoice{"c2t", {{"model", "a/b:c"}, {"beta", "0.5"}}}));
  EXPECT_THAT(error_of([&] { set_value(plan, find_plan_key("policy"), "c2t:beta=1;beta=2"); }),
              HasSubstr("beta is given twice"));
  EXPECT_THAT(error_of([&] { set_value(plan, find_plan_key("policy"), "c2t:beta"); }),
              HasSubstr("KEY=VALUE"));
  EXPECT_THAT(error_of([&] { set_value(plan, find_plan_key("policy"), ":beta=1"); }),
              HasSubstr("expected a name"));
  set_value(plan, find_plan_key("tree"), "a,b;c.json");
  EXPECT_EQ(plan.static_tree, "a,b;c.json");
}

TEST(CheckPlan, NamesFieldsThatAreOutOfRange) {
  for_each_number<std::optional<int>>([](const PlanKey& key, std::optional<int> SpeculationPlan::*member) {
    for (const double outside : {key.least - 1, key.most + 1}) {
      SpeculationPlan plan;
      plan.*member = static_cast<int>(outside);
      EXPECT_THAT(error_of([&] { check_plan(plan); }), StartsWith(std::string(key.field) + ": expected"));
    }
  });
  SpeculationPlan plan;
  plan.draft_p_min = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error_of([&] { check_plan(plan); }), StartsWith("draft_p_min: expected"));
  EXPECT_NO_THROW(check_plan({}));
}

TEST(CheckPlan, RefusesWhatExcludesEachOther) {
  EXPECT_THAT(error_of([] { check_plan({.draft_max = 2, .draft_min = 3}); }),
              AllOf(HasSubstr("draft_min is 3"), HasSubstr("draft_max, which is 2")));
  EXPECT_THAT(error_of([] { check_plan({.draft_min = 5}); }), HasSubstr("draft_max, which is 4"));
  EXPECT_THAT(error_of([] { check_plan({.ngram_min = 5}); }), HasSubstr("ngram_max, which is 4"));
  EXPECT_NO_THROW(check_plan({.ngram_min = 5, .ngram_max = 5}));
  EXPECT_THAT(error_of([] { check_plan({.policy = {"", {{"beta", "1"}}}}); }), HasSubstr("policy"));
}

TEST(PolicyOf, IsWhatTheLimitsAskForAndOtherwiseAuto) {
  const auto policy = [](const SpeculationPlan& plan) { return policy_of(plan).name; };
  EXPECT_EQ(policy({}), "auto");
  EXPECT_EQ(policy({.drafters = {"ngram"}, .ngram_max = 8, .exit_layer = 3, .coupling = false}), "auto");
  EXPECT_EQ(policy({.draft_max = 4}), "chain") << "the usual value, but given";
  EXPECT_EQ(policy({.draft_min = 0}), "chain");
  EXPECT_EQ(policy({.draft_p_min = 0.0}), "chain");
  EXPECT_EQ(policy({.tree_topk = 4}), "eagle2");
  EXPECT_EQ(policy({.tree_depth = 3}), "eagle2");
  EXPECT_EQ(policy({.draft_max = 8, .tree_size = 9}), "eagle2");
  EXPECT_EQ(policy({.tree_topk = 1, .tree_depth = 3}), "chain");
  EXPECT_EQ(policy({.tree_topk = 2, .static_tree = "mc_sim_7b_63"}), "static");
  const PolicyChoice own{"c2t", {{"beta", "0.5"}}};
  EXPECT_EQ(policy_of({.policy = own, .tree_topk = 2}), own);
}

}  // namespace
}  // namespace augur
