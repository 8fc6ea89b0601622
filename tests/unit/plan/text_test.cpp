#include "plan/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "plan/keys.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::error_of;

SpeculationPlan read(std::string_view text) {
  SpeculationPlan plan;
  apply(split_plan(text), plan);
  return plan;
}

TEST(PlanText, EveryKeyCanBeSaid) {
  const SpeculationPlan plan = read(
      "eagle3,ngram:policy=static:n-max=2;p-min=0.5,n-max=8,n-min=2,p-min=0.5,topk=8,depth=5,size=32,tree=t."
      "json,"
      "ngram-min=2,ngram-max=6,exit=7,drafter=ngram.a=1;draft.b-c=x,vocab=dynaspec:some/"
      "folder:8;4,verify=rejection,coupling=0");
  EXPECT_EQ(plan, (SpeculationPlan{.drafters = {"eagle3", "ngram"},
                                   .policy = {"static", {{"n-max", "2"}, {"p-min", "0.5"}}},
                                   .draft_max = 8,
                                   .draft_min = 2,
                                   .draft_p_min = 0.5,
                                   .tree_topk = 8,
                                   .tree_depth = 5,
                                   .tree_size = 32,
                                   .static_tree = "t.json",
                                   .ngram_min = 2,
                                   .ngram_max = 6,
                                   .exit_layer = 7,
                                   .drafter_settings = {{"ngram.a", "1"}, {"draft.b-c", "x"}},
                                   .draft_vocabulary = "dynaspec:some/folder:8;4",
                                   .verification = Verification::Rejection,
                                   .coupling = false}));
  for (const PlanKey& key : plan_keys()) EXPECT_TRUE(is_given(plan, key)) << key.key;
}

TEST(PlanText, WhatIsNotSaidIsAsItWas) {
  EXPECT_EQ(read(""), SpeculationPlan());
  EXPECT_EQ(to_string(SpeculationPlan()), "");
  EXPECT_THAT(read(":topk=3").drafters, IsEmpty());
  SpeculationPlan plan = read("ngram:ngram-max=9,coupling=0,policy=chain");
  apply(split_plan("draft:topk=3,policy=eagle2,coupling=1"), plan);
  EXPECT_EQ(to_string(plan), "draft:policy=eagle2,topk=3,ngram-max=9");
  apply(split_plan(":topk=2"), plan);
  EXPECT_THAT(plan.drafters, ElementsAre("draft"));
}

TEST(PlanText, ABackslashTakesWhatFollows) {
  const SpeculationPlan plan =
      read(R"(ngram:tree=a\,b\\c\;d.json,policy=static:model=e\,f\;g;beta=1,vocab=frspec:x\,y:8)");
  EXPECT_EQ(plan.static_tree, R"(a,b\c;d.json)");
  EXPECT_EQ(plan.policy.settings.at("model"), "e,f;g");
  EXPECT_EQ(plan.policy.settings.at("beta"), "1");
  EXPECT_EQ(plan.draft_vocabulary, "frspec:x,y:8");
  EXPECT_EQ(unescaped("end\\"), "end\\");
}

TEST(PlanText, SaysWhatIsWrong) {
  EXPECT_THAT(error_of([] { read("ngram:n-max"); }), HasSubstr("'n-max' is not KEY=VALUE"));
  EXPECT_THAT(error_of([] { read("ngram:=8"); }), HasSubstr("'=8' is not KEY=VALUE"));
  EXPECT_THAT(error_of([] { read("ngram:,"); }), HasSubstr("'' is not KEY=VALUE"));
  EXPECT_THAT(error_of([] { read("ngram:n-max=0"); }),
              HasSubstr("n-max: expected an integer from 1 to 1024"));
  EXPECT_THAT(error_of([] { read("ngram:n-max=8x"); }), HasSubstr("'8x'"));
  EXPECT_THAT(error_of([] { read("ngram:n-max=4,n-max=4"); }), HasSubstr("n-max is given twice"));
  EXPECT_THAT(error_of([] { read("ngram:colour=red"); }), HasSubstr("'colour'"));
  EXPECT_THAT(error_of([] { read("ngram:draft_max=3"); }), HasSubstr("'draft_max'")) << "a field is no key";
  for (const char* text : {"x=1", ".x=1", "x.=1"}) {
    EXPECT_THAT(error_of([&] { read(std::string("ngram:drafter=") + text); }),
                HasSubstr("drafter: expected TYPE.KEY=VALUE"));
  }
  EXPECT_THAT(error_of([] { read("ngram:drafter=ngram.x=1;ngram.x=2"); }),
              HasSubstr("ngram.x is given twice"));
  EXPECT_THAT(error_of([] { read("ngram:policy="); }), HasSubstr("policy: expected a name"));
  for (const char* list : {"ngram,", ",ngram", "ngram,,draft", "ngram draft", "ngram\\"}) {
    EXPECT_THAT(error_of([&] { read(list); }), HasSubstr("speculation types: expected a name")) << list;
  }
  EXPECT_THAT(error_of([] { read("ngram:policy=static\\;a=1"); }), HasSubstr("policy: expected a name"));
}

/// Values with everything that has a meaning in the text.
class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : random_(seed) {}

  SpeculationPlan next() {
    SpeculationPlan plan;
    for (const char* name : {"ngram", "eagle3", "draft"}) {
      if (chance()) plan.drafters.emplace_back(name);
    }
    for (const PlanKey& key : plan_keys()) {
      if (chance()) std::visit([&](auto member) { fill(plan.*member, key); }, key.member);
    }
    return plan;
  }

 private:
  bool chance() { return random_() % 2 == 0; }
  std::string text() {
    static constexpr std::string_view kCharacters = "ab9,;:=\\ /.\"'\n\xC3\xA4";
    std::string out = "x";
    for (unsigned n = random_() % 8; n > 0; --n) out += kCharacters[random_() % kCharacters.size()];
    return out;
  }
  template <class Number>
  void fill(std::optional<Number>& value, const PlanKey& key) {
    value = static_cast<Number>(std::uniform_real_distribution<double>(key.least, key.most)(random_));
  }
  void fill(bool& value, const PlanKey&) { value = false; }
  void fill(std::string& value, const PlanKey&) { value = text(); }
  void fill(std::map<std::string, std::string>& value, const PlanKey&) {
    do value["ngram.key" + std::to_string(value.size())] = text();
    while (chance());
  }
  void fill(Verification& value, const PlanKey&) { value = Verification::Rejection; }
  void fill(PolicyChoice& value, const PlanKey&) {
    value.name = chance() ? "c2t" : "static";
    while (chance()) value.settings["key" + std::to_string(value.settings.size())] = text();
  }

  std::mt19937 random_;
};

TEST(PlanText, ReadsEveryPlanThatItWrites) {
  RandomPlans plans(11);
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    const SpeculationPlan plan = plans.next();
    if (error_of([&] { check_plan(plan); }) != "no error") continue;
    const std::string text = to_string(plan);
    ASSERT_EQ(error_of([&] { read(text); }), "no error") << text;
    ASSERT_EQ(read(text), plan) << text;
    ASSERT_EQ(to_string(read(text)), text);
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace augur
