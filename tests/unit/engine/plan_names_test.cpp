#include "engine/plan_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "augur/engine.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::error_of;

std::vector<std::string> drafters(const char* plan) {
  return SpeculationPlan::parse(plan).drafters;
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

}  // namespace
}  // namespace augur
