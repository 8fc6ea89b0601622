#include "engine/plan_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "augur/engine.h"
#include "engine/drafters.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::error_of;

std::vector<std::string> drafters(const char* plan) {
  return SpeculationPlan::parse(plan).drafters;
}

std::string resolved(const char* plan, const char* head) {
  return to_string(resolve(SpeculationPlan::parse(plan), head));
}

TEST(PlanNames, AliasesAreResolvedWhenAPlanIsRead) {
  for (const SpeculationType& type : speculation_types()) {
    EXPECT_THAT(drafters(type.name.c_str()), ElementsAre(type.name));
    if (type.alias.empty()) continue;
    EXPECT_THAT(drafters(type.alias.c_str()), ElementsAre(type.name));
  }
  EXPECT_THAT(drafters("auto,ngram-simple:topk=2"), ElementsAre("auto", "ngram"));
  EXPECT_THAT(drafters("plain"), ElementsAre("none"));
  EXPECT_TRUE(SpeculationPlan::parse("plain").plain());
  EXPECT_FALSE(SpeculationPlan::parse("").plain());
  EXPECT_EQ(SpeculationPlan::parse("draft-simple:topk=2"), SpeculationPlan::parse("draft:topk=2"));
}

TEST(PlanNames, DraftersSettingsGoByCanonicalNames) {
  const auto settings = [](const char* plan) { return SpeculationPlan::parse(plan).drafter_settings; };
  EXPECT_THAT(settings("ngram-simple:drafter=ngram-simple.x=1;suffix.y.z=2"),
              ElementsAre(testing::Pair("ngram.x", "1"), testing::Pair("suffix.y.z", "2")));
  EXPECT_THAT(error_of([&] { settings("ngram:drafter=telepathy.x=1"); }), HasSubstr("'telepathy'"));
  EXPECT_THAT(error_of([&] { settings("ngram:drafter=ngram.x=1;ngram-simple.x=1"); }),
              HasSubstr("ngram.x is given twice"));
}

TEST(PlanNames, UnknownOnesAreRefused) {
  EXPECT_THAT(error_of([] { drafters("telepathy"); }), AllOf(HasSubstr("'telepathy'"), HasSubstr("eagle3")));
  EXPECT_THAT(error_of([] { drafters("ngram,,draft"); }), HasSubstr("''"));
  EXPECT_THAT(error_of([] { drafters("draft,draft-simple"); }), HasSubstr("'draft-simple' is given twice"));
  EXPECT_THAT(error_of([] { drafters("none,ngram"); }), HasSubstr("'none' stands alone"));
  EXPECT_THAT(error_of([] { drafters("plain,none"); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([] { drafters("ngram:policy=hope"); }),
              AllOf(HasSubstr("'hope'"), HasSubstr("eagle2")));
}

TEST(Resolve, NamesEverythingThatAPlanLeavesOpen) {
  EXPECT_EQ(resolved("", ""), "none:policy=auto");
  EXPECT_EQ(resolved("", "eagle3"), "eagle3,ngram:policy=auto");
  EXPECT_EQ(resolved(":policy=hetero", "eagle3"), "eagle3:policy=hetero");
  EXPECT_EQ(resolved(":topk=2", "eagle3"), "eagle3:policy=eagle2,topk=2");
  EXPECT_EQ(resolved("auto", "eagle3"), "eagle3:policy=auto");
  EXPECT_EQ(resolved("none", "eagle3"), "none:policy=auto");
  EXPECT_EQ(resolved("ngram", "eagle3"), "ngram:policy=auto") << "the draft model is not asked for";
  EXPECT_EQ(resolved("auto,ngram:topk=8", "draft"), "draft,ngram:policy=eagle2,topk=8");
  EXPECT_EQ(resolved("suffix:n-max=8", ""), "suffix:policy=chain,n-max=8");
  EXPECT_EQ(resolved("draft:policy=c2t:beta=0.5,depth=3", "draft"), "draft:policy=c2t:beta=0.5,depth=3");
  EXPECT_THAT(drafters_of(resolve({}, "")), IsEmpty());
}

TEST(Resolve, TwiceIsOnce) {
  for (const char* plan :
       {"", "none", "auto", "ngram,auto:topk=2", "draft:n-max=3,vocab=frspec", "ngram:tree=x"}) {
    const SpeculationPlan once = resolve(SpeculationPlan::parse(plan), "draft");
    EXPECT_EQ(resolve(once, "draft"), once) << plan;
    EXPECT_EQ(SpeculationPlan::parse(to_string(once)), once) << plan;
  }
}

TEST(Resolve, RefusesDraftersThatAreNotThere) {
  EXPECT_THAT(error_of([] { resolved("auto", ""); }),
              HasSubstr("'auto' needs a draft model, and none was given"));
  EXPECT_THAT(error_of([] { resolved("draft", ""); }),
              HasSubstr("'draft' needs a draft model, and none was given"));
  EXPECT_THAT(error_of([] { resolved("eagle3", "draft"); }), HasSubstr("the one given is used as 'draft'"));
  EXPECT_THAT(error_of([] { resolved("auto,draft", "draft"); }), HasSubstr("twice"));
  SpeculationPlan plan;
  plan.tree_size = 1;
  EXPECT_THAT(error_of([&] { resolve(plan, ""); }), HasSubstr("tree_size"));
}

TEST(Resolve, RefusesLimitsThatThePolicyWouldIgnore) {
  SpeculationPlan plan{.drafters = {"ngram"}, .policy = {"chain", {}}, .tree_topk = 9};
  EXPECT_THAT(error_of([&] { resolve(plan, ""); }), HasSubstr("tree_topk: policy chain does not read it"));
  EXPECT_THAT(error_of([] { SpeculationPlan::parse("ngram:policy=chain,topk=9"); }),
              HasSubstr("topk: policy chain does not read it"));
  EXPECT_THAT(error_of([] { SpeculationPlan::parse("draft:policy=auto,topk=3"); }),
              HasSubstr("topk: policy auto decides"));
  plan.drafters = {"none"};
  EXPECT_NO_THROW(resolve(plan, "")) << "plain decoding has no policy";
}

}  // namespace
}  // namespace augur
