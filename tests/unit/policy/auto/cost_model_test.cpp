#include "policy/auto/cost_model.h"

#include <gtest/gtest.h>

namespace augur {
namespace {

TEST(CostCurve, KeepsWhatWasSetAndInterpolatesBetween) {
  CostCurve curve(1.0, 0.0);
  curve.set(1, 10.0);
  curve.set(8, 12.0);
  curve.set(16, 20.0);
  curve.fill_gaps();
  EXPECT_DOUBLE_EQ(curve.at(1), 10.0);
  EXPECT_DOUBLE_EQ(curve.at(8), 12.0);
  EXPECT_DOUBLE_EQ(curve.at(16), 20.0);
  EXPECT_NEAR(curve.at(2), 10.0 + 2.0 / 7, 1e-12);
  EXPECT_NEAR(curve.at(10), 14.0, 1e-12);
  EXPECT_NEAR(curve.at(24), 28.0, 1e-12) << "beyond what was measured it goes on as before";
  EXPECT_NEAR(curve.at(256), 260.0, 1e-9);
}

TEST(CostCurve, TheFirstObservationScalesTheGuess) {
  CostCurve curve(10.0, 0.1);
  curve.observe(1, 30.0);
  EXPECT_NEAR(curve.at(1), 30.0, 1e-12);
  EXPECT_NEAR(curve.at(32) / curve.at(1), 4.1, 1e-12) << "the shape stays";
}

TEST(CostCurve, OneInterruptedStepDoesLittleHarm) {
  CostCurve curve(10.0, 0.0);
  for (int i = 0; i < 100; ++i) curve.observe(16, 10.0);
  curve.observe(16, 1000.0);
  EXPECT_LT(curve.at(16), 10.2);
  EXPECT_NEAR(curve.at(1), 10.0, 1e-9);
}

TEST(CostCurve, FollowsAChange) {
  CostCurve curve(10.0, 0.0);
  curve.set(4, 10.0);
  for (int i = 0; i < 200; ++i) curve.observe(4, 15.0);
  EXPECT_NEAR(curve.at(4), 15.0, 0.1);
}

TEST(CostCurve, ABadMeasurementIsSoonForgotten) {
  CostCurve curve(10.0, 0.0);
  curve.set(1, 10.0);
  curve.set(4, 16.0);  // the machine was busy: it takes 11
  curve.fill_gaps();
  for (int i = 0; i < 24; ++i) curve.observe(4, 11.0);
  EXPECT_NEAR(curve.at(4), 11.0, 0.6);
  EXPECT_DOUBLE_EQ(curve.at(1), 10.0);
}

TEST(CostCurve, PeaksOfAMeasurementAreFlattened) {
  CostCurve curve(1.0, 0.0);
  for (std::size_t i = 0; i < CostCurve::kKnots; ++i)
    curve.set(CostCurve::kRows[i], 10.0 + static_cast<double>(i));
  curve.set(1, 13.0);
  curve.set(16, 99.0);
  curve.flatten_peaks();
  EXPECT_DOUBLE_EQ(curve.at(1), 11.0);
  EXPECT_DOUBLE_EQ(curve.at(16), 17.0);
  EXPECT_DOUBLE_EQ(curve.at(128), 23.0);
}

TEST(CostCurve, NeighboursThatWereNeverSeenFollow) {
  CostCurve curve(10.0, 0.0);
  for (const double rows : CostCurve::kRows) curve.set(rows, 30.0);
  for (int i = 0; i < 40; ++i) curve.observe(1, 10.0);
  EXPECT_NEAR(curve.at(1), 10.0, 0.5);
  EXPECT_NEAR(curve.at(128), 10.0, 0.5) << "nothing else is known of it";
  for (int i = 0; i < 40; ++i) curve.observe(64, 40.0);
  EXPECT_NEAR(curve.at(64), 40.0, 2.0);
  EXPECT_NEAR(curve.at(128), 40.0, 2.0);
  EXPECT_NEAR(curve.at(1), 10.0, 0.5) << "it was seen itself";
  EXPECT_GT(curve.at(8), 12.0);
  EXPECT_LT(curve.at(8), curve.at(32));
}

TEST(CostModel, TheFirstStepsSayHowFastTheMachineIs) {
  CostModel costs;
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 30.0 + rows);
  for (int i = 0; i < 8; ++i) costs.observe_step(16, 0, (30.0 + 16) / 3, 0.05);
  EXPECT_NEAR(costs.verify_ms(1, 0), 31.0 / 3, 0.35 * 31.0 / 3) << "all rows alike";
}

TEST(CostModel, WhatWasNeverSeenContradictsTheTable) {
  CostModel costs;
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 30.0);
  for (int i = 0; i < 20; ++i) costs.observe_step(1, 0, 30.0, 0.05);
  const double before = costs.drift();
  costs.observe_step(64, 0, 90.0, 0.05);
  EXPECT_NEAR(costs.drift(), before, 0.02) << "not the machine's speed";
}

TEST(CostModel, FindsTheTableFromSteps) {
  CostModel costs;
  EXPECT_FALSE(costs.measured());
  const auto truth = [](double rows) { return 8.0 + 0.25 * rows; };
  for (int i = 0; i < 400; ++i) {
    for (const double rows : {1.0, 4.0, 8.0, 16.0, 32.0}) costs.observe_step(rows, 0, truth(rows), 0.05);
  }
  EXPECT_TRUE(costs.measured());
  for (const double rows : {1.0, 4.0, 8.0, 16.0, 32.0}) {
    EXPECT_NEAR(costs.verify_ms(rows, 0), truth(rows), 0.02 * truth(rows)) << rows;
  }
  EXPECT_NEAR(costs.other_ms(), 0.05, 0.005);
  EXPECT_NEAR(costs.step_ms(0), truth(1) + 0.05, 0.2);
}

TEST(CostModel, KeepsRowCountsComparableWhenTheMachineSlowsDown) {
  CostModel costs;
  costs.verify_curve().set(1, 10.0);
  costs.verify_curve().set(16, 15.0);
  costs.verify_curve().fill_gaps();
  for (int i = 0; i < 150; ++i) costs.observe_step(1, 0, 20.0, 0.05);  // plain steps only
  EXPECT_NEAR(costs.verify_ms(1, 0), 20.0, 0.4);
  EXPECT_GT(costs.verify_ms(16, 0), 19.0) << "never seen since, but on the same machine";
}

TEST(CostModel, SettlingChangesNoTime) {
  CostModel costs;
  costs.verify_curve().set(1, 10.0);
  costs.verify_curve().set(16, 15.0);
  costs.verify_curve().fill_gaps();
  costs.drafter("draft").root().set(1, 1.0);
  for (int i = 0; i < 20; ++i) {
    costs.observe_step(1, 0, 14.0, 0.05);
    costs.drafter("draft").observe(0, 1, 1.4);
  }
  const double verify = costs.verify_ms(16, 0);
  const double draft = costs.drafter("draft").level_ms(0, 1);
  EXPECT_GT(costs.drift(), 1.1);
  costs.settle();
  EXPECT_DOUBLE_EQ(costs.drift(), 1.0);
  EXPECT_DOUBLE_EQ(costs.verify_ms(16, 0), verify);
  EXPECT_DOUBLE_EQ(costs.drafter("draft").level_ms(0, 1), draft);
  EXPECT_NEAR(costs.verify_curve().at(16), verify, 1e-12) << "the table says it by itself";
}

TEST(CostModel, ADisturbedGrowthMakesNoTimeNegative) {
  CostModel costs;
  costs.set_growth(256, 0.0007, 0.0757);  // as measured beside a build
  for (const double rows : {1.0, 16.0, 64.0, 128.0}) {
    EXPECT_GT(costs.verify_ms(rows, 0), 0) << rows;
    EXPECT_GT(costs.verify_ms(rows, 1000), costs.verify_ms(rows, 0)) << rows;
  }
}

TEST(CostModel, GrowsWithTheContext) {
  CostModel costs;
  costs.verify_curve().set(1, 10.0);
  costs.verify_curve().set(64, 20.0);
  costs.verify_curve().fill_gaps();
  costs.set_growth(100, 1e-4, 3e-4);
  EXPECT_NEAR(costs.verify_ms(1, 1100), 11.0, 1e-9);
  EXPECT_NEAR(costs.verify_ms(64, 1100), 26.0, 1e-9);
  EXPECT_NEAR(costs.verify_ms(64, 100), 20.0, 1e-9);
}

TEST(DraftCosts, LearnsLevelsByWidth) {
  CostModel costs;
  DraftCosts& draft = costs.drafter("eagle3");
  EXPECT_FALSE(draft.measured());
  for (int i = 0; i < 200; ++i) {
    draft.observe(0, 1, 2.0);
    draft.observe(1, 4, 1.0);
    draft.observe(2, 8, 1.5);
  }
  EXPECT_EQ(&costs.drafter("eagle3"), &draft);
  EXPECT_NEAR(draft.level_ms(0, 1), 2.0, 0.01);
  EXPECT_NEAR(draft.level_ms(3, 4), 1.0, 0.02);
  EXPECT_NEAR(draft.level_ms(1, 8), 1.5, 0.02);
}

}  // namespace
}  // namespace augur
