#include "api/policy_cache.h"

#include <gtest/gtest.h>

#include "api/engine_access.h"
#include "policy/auto/predict.h"
#include "support/stories.h"

namespace augur {
namespace {

TEST(PolicyCache, WhatIsLearnedIsOfOneCombinationOfDrafters) {
  EngineOptions options;
  options.model = testing_support::stories_path().string();
  options.threads = 1;
  Engine engine(options);
  PolicyCache cache(EngineAccess::model(engine), options.model);
  const auto policy_of = [&](std::vector<std::string> types) {
    SpeculationOptions asked;
    asked.policy = "auto";
    asked.types = std::move(types);
    return cache.get(asked);
  };
  const PolicyCache::Found alone = policy_of({"draft"});
  const PolicyCache::Found both = policy_of({"draft", "ngram"});
  EXPECT_TRUE(both.fresh);
  EXPECT_NE(alone.policy, both.policy);
  EXPECT_EQ(policy_of({"ngram", "draft"}).policy, both.policy) << "in any order";
  EXPECT_FALSE(policy_of({"draft"}).fresh);
}

}  // namespace
}  // namespace augur
