#include "engine/resolved_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/drafters.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::error_of;

std::string resolved(const char* plan, const char* head) {
  return to_string(resolve(SpeculationPlan::parse(plan), {.head = head}));
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
  EXPECT_THAT(drafters_of(resolve({}, {})), IsEmpty());
}

TEST(Resolve, TwiceIsOnce) {
  for (const char* plan :
       {"", "none", "auto", "ngram,auto:topk=2", "draft:n-max=3,vocab=frspec", "ngram:tree=x"}) {
    const SpeculationPlan once = resolve(SpeculationPlan::parse(plan), {.head = "draft"});
    EXPECT_EQ(resolve(once, {.head = "draft"}), once) << plan;
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
  EXPECT_THAT(error_of([&] { resolve(plan, {}); }), HasSubstr("tree_size"));
}

TEST(Resolve, RefusesLimitsThatThePolicyWouldIgnore) {
  SpeculationPlan plan{.drafters = {"ngram"}, .policy = {"chain", {}}, .tree_topk = 9};
  EXPECT_THAT(error_of([&] { resolve(plan, {}); }), HasSubstr("tree_topk: policy chain does not read it"));
  EXPECT_THAT(error_of([] { SpeculationPlan::parse("ngram:policy=chain,topk=9"); }),
              HasSubstr("topk: policy chain does not read it"));
  EXPECT_THAT(error_of([] { SpeculationPlan::parse("draft:policy=auto,topk=3"); }),
              HasSubstr("topk: policy auto decides"));
  plan.drafters = {"none"};
  EXPECT_NO_THROW(resolve(plan, {})) << "plain decoding has no policy";
}

TEST(Resolve, AnEngineHasOneVocabulary) {
  const VocabularySpec full = VocabularySpec::parse("full");
  const LoadedDrafts loaded{.head = "draft", .vocabulary = &full};
  EXPECT_EQ(resolve(SpeculationPlan::parse("draft"), loaded).draft_vocabulary, "full");
  EXPECT_EQ(resolve(SpeculationPlan::parse("draft:vocab=full"), loaded).draft_vocabulary, "full");
  EXPECT_THAT(error_of([&] { resolve(SpeculationPlan::parse("draft:vocab=frspec:/f:32"), loaded); }),
              HasSubstr("'frspec:/f:32': this engine was loaded with 'full', and one engine has one"));
}

}  // namespace
}  // namespace augur
