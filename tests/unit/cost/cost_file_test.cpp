#include "cost/cost_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;

CostModel some_costs() {
  CostModel costs;
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 5 + 0.1 * rows);
  costs.other_curve().set(1, 0.25);
  costs.set_growth(256, 1e-4, 2e-4);
  for (const double rows : CostCurve::kRows) costs.drafter("draft").root().set(rows, 1 + 0.01 * rows);
  for (const double rows : CostCurve::kRows) costs.drafter("draft").levels().set(rows, 2 + 0.01 * rows);
  costs.drafter("ngram").root().set(1, 0.002);
  return costs;
}

TEST(CostFile, GivesBackWhatItWasGiven) {
  CostModel before = some_costs();
  CostModel after;
  read_target_costs(target_costs_to_json(before), "f", after);
  for (const double rows : {1.0, 7.0, 64.0, 200.0}) {
    for (const double context : {0.0, 256.0, 4000.0}) {
      EXPECT_DOUBLE_EQ(after.verify_ms(rows, context), before.verify_ms(rows, context));
    }
  }
  EXPECT_DOUBLE_EQ(after.step_ms(0), before.step_ms(0));
  EXPECT_TRUE(after.measured());

  DraftCosts draft;
  read_draft_costs(draft_costs_to_json(before.drafter("draft")), "f", draft);
  for (const int level : {0, 1}) {
    EXPECT_DOUBLE_EQ(draft.level_ms(level, 8), before.drafter("draft").level_ms(level, 8));
  }
  DraftCosts ngram;
  read_draft_costs(draft_costs_to_json(before.drafter("ngram")), "f", ngram);
  EXPECT_DOUBLE_EQ(ngram.level_ms(0, 1), 0.002);
  EXPECT_FALSE(ngram.levels().observed()) << "it has no further levels";
}

CostModel costs_of_experts() {
  CostModel costs(ExpertDemand(32, 4, 2));
  costs.verify_curve() = some_costs().verify_curve();
  costs.set_expert_share(0.01);
  for (int step = 0; step < 40; ++step) costs.experts().observe(8, 2 * 12);
  return costs;
}

TEST(CostFile, ExpertsGoAlong) {
  const CostModel before = costs_of_experts();
  CostModel after(ExpertDemand(32, 4, 2));
  read_target_costs(target_costs_to_json(before), "f", after);
  EXPECT_DOUBLE_EQ(after.expert_ms(), before.expert_ms());
  for (const double rows : {1.0, 8.0, 40.0}) {
    EXPECT_DOUBLE_EQ(after.verify_ms(rows, 0), before.verify_ms(rows, 0)) << rows;
    EXPECT_DOUBLE_EQ(after.experts().at(rows), before.experts().at(rows)) << rows;
  }
}

TEST(CostFile, RefusesExpertsThatCannotBe) {
  const auto refusal = [](const char* key, const nlohmann::json& value) {
    nlohmann::json object = target_costs_to_json(costs_of_experts());
    object["experts"][key] = value;
    CostModel into(ExpertDemand(32, 4, 2));
    return error_of([&] { read_target_costs(object, "costs.json", into); });
  };
  EXPECT_THAT(refusal("share", -1), HasSubstr("experts.share"));
  EXPECT_THAT(refusal("pools", {1, 2}), AllOf(HasSubstr("costs.json"), HasSubstr("experts.pools")));
  EXPECT_THAT(refusal("pools", {8, 8, 8, 1000, 8, 8, 8}),
              AllOf(HasSubstr("experts.pools"), HasSubstr("1000")));
  EXPECT_THAT(refusal("pools", {8, 8, 8, "many", 8, 8, 8}), HasSubstr("many"));
  CostModel into(ExpertDemand(32, 4, 2));
  EXPECT_THAT(error_of([&] { read_target_costs(target_costs_to_json(some_costs()), "costs.json", into); }),
              HasSubstr("experts"));
}

TEST(CostFile, ABusyMomentIsNotHandedOn) {
  CostModel before = some_costs();
  before.verify_curve().set(16, 84.0);
  CostModel after;
  read_target_costs(target_costs_to_json(before), "f", after);
  EXPECT_LE(after.verify_ms(16, 256), before.verify_ms(20, 256));
  EXPECT_GE(after.verify_ms(16, 256), before.verify_ms(12, 256));
  EXPECT_DOUBLE_EQ(after.verify_ms(12, 256), before.verify_ms(12, 256));
}

TEST(CostFile, RefusesWhatCannotBe) {
  const auto refusal = [](const char* key, const nlohmann::json& value) {
    nlohmann::json object = target_costs_to_json(some_costs());
    object[key] = value;
    CostModel into;
    return error_of([&] { read_target_costs(object, "costs.json", into); });
  };
  EXPECT_THAT(refusal("verify", nullptr), AllOf(HasSubstr("costs.json"), HasSubstr("verify")));
  EXPECT_THAT(refusal("verify", {1, 2, 3}), HasSubstr("verify"));
  EXPECT_THAT(refusal("other_ms", "fast"), AllOf(HasSubstr("other_ms"), HasSubstr("fast")));
  EXPECT_THAT(refusal("other_ms", -1.0), HasSubstr("other_ms"));
  EXPECT_THAT(refusal("growth_one_row", 7.0), HasSubstr("growth_one_row"));
  EXPECT_THAT(refusal("context", 1e300), HasSubstr("context"));
  nlohmann::json knots = target_costs_to_json(some_costs())["verify"];
  knots[3]["ms"] = -1;
  EXPECT_THAT(refusal("verify", knots), HasSubstr("verify[3].ms"));
  knots[3] = 5;
  EXPECT_THAT(refusal("verify", knots), HasSubstr("entry 3"));
  nlohmann::json draft = draft_costs_to_json(some_costs().drafter("draft"));
  draft["levels"][0]["rows"] = 3;
  DraftCosts into;
  EXPECT_THAT(error_of([&] { read_draft_costs(draft, "costs.json", into); }), HasSubstr("levels[0].rows"));
}

}  // namespace
}  // namespace augur
