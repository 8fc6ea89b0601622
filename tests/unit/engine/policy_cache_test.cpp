#include "engine/policy_cache.h"

#include <gtest/gtest.h>

#include "engine/engine_access.h"
#include "engine/resolved_plan.h"
#include "support/stories.h"

namespace augur {
namespace {

class PolicyCacheTest : public testing::Test {
 protected:
  PolicyCacheTest() : engine_(options()), cache_(EngineAccess::model(engine_), {}) {}
  static EngineOptions options() {
    EngineOptions options;
    options.model = testing_support::stories_path().string();
    options.threads = 1;
    return options;
  }
  PolicyCache::Found policy_of(std::string_view plan) {
    return cache_.get(resolve(SpeculationPlan::parse(plan), {.head = "draft"}));
  }

  Engine engine_;
  PolicyCache cache_;
};

TEST_F(PolicyCacheTest, WhatIsLearnedIsOfOneCombinationOfDrafters) {
  const PolicyCache::Found alone = policy_of("draft");
  const PolicyCache::Found both = policy_of("draft,ngram");
  EXPECT_TRUE(both.fresh);
  EXPECT_NE(alone.policy, both.policy);
  EXPECT_EQ(policy_of("ngram,draft").policy, both.policy) << "in any order";
  EXPECT_FALSE(policy_of("draft").fresh);
}

TEST_F(PolicyCacheTest, WhatIsForgottenBeginsAnewWithoutBeingLoadedAgain) {
  const DrafterIdentity drafters[] = {{.name = "draft"}};
  const auto beliefs = [&] { return policy_of("draft").policy->make_all(drafters).steering.controller; };
  const auto before = beliefs();
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(beliefs(), before) << "later texts go on with what was learnt";
  cache_.forget_learnt();
  EXPECT_NE(beliefs(), before);
  EXPECT_FALSE(policy_of("draft").fresh);
}

TEST_F(PolicyCacheTest, NamesForOneThingAreOneKey) {
  const PolicyCache::Found named = policy_of("draft,ngram:policy=auto");
  EXPECT_TRUE(named.fresh);
  for (const char* same :
       {"draft,ngram", "draft-simple,ngram-simple", "auto,ngram", "ngram,auto:policy=auto"}) {
    EXPECT_EQ(policy_of(same).policy, named.policy) << same;
  }
  const PolicyCache::Found tree = policy_of("draft:topk=3");
  EXPECT_EQ(policy_of("auto:policy=eagle2,topk=3").policy, tree.policy);
  EXPECT_NE(policy_of("auto:policy=eagle2,topk=4").policy, tree.policy);
  EXPECT_EQ(policy_of("auto:verify=rejection,topk=3,coupling=0,ngram-max=7").policy, tree.policy)
      << "no policy is made from these";
}

}  // namespace
}  // namespace augur
