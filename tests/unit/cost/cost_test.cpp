#include "cost/cost.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "base/calm_times.h"

namespace augur {
namespace {

/// What a first measurement has said: every row count takes so long.
CostCurve measured(double (*ms)(double rows)) {
  CostCurve curve(1.0, 0.0);
  for (const double rows : CostCurve::kRows) curve.set(rows, ms(rows));
  return curve;
}
double flat(double) {
  return 10;
}
double rising(double rows) {
  return 10 + 0.2 * rows;
}

TEST(CostCurve, KeepsWhatWasSetAndInterpolatesBetween) {
  CostCurve curve(1.0, 0.0);
  curve.set(1, 10.0);
  curve.set(8, 12.0);
  curve.set(16, 20.0);
  curve.settle();
  EXPECT_NEAR(curve.at(1), 10.0, 1e-12);
  EXPECT_NEAR(curve.at(8), 12.0, 1e-12);
  EXPECT_NEAR(curve.at(16), 20.0, 1e-12);
  EXPECT_NEAR(curve.at(2), 10.0 + 2.0 / 7, 1e-12);
  EXPECT_NEAR(curve.at(10), 14.0, 1e-12);
  EXPECT_NEAR(curve.at(24), 28.0, 1e-12) << "beyond what was measured it goes on as before";
  EXPECT_NEAR(curve.at(256), 260.0, 1e-9);
}

TEST(CostCurve, TheFirstObservationScalesTheGuess) {
  CostCurve curve(10.0, 0.1);
  curve.observe(1, 30.0);
  EXPECT_NEAR(curve.at(1), 30.0, 0.5);
  EXPECT_NEAR(curve.at(32) / curve.at(1), 4.1, 0.2) << "the shape stays";
}

TEST(CostCurve, OneInterruptedStepDoesLittleHarm) {
  CostCurve curve = measured(flat);
  for (int i = 0; i < 100; ++i) curve.observe(16, 10.0);
  curve.observe(16, 1000.0);
  EXPECT_LT(curve.at(16), 10.5);
  EXPECT_LT(curve.at(1), 10.5);
  for (int i = 0; i < 3; ++i) curve.observe(16, 10.0);
  EXPECT_NEAR(curve.at(16), 10.0, 0.3);
}

TEST(CostCurve, FollowsTheMachinesSpeedAtAllRows) {
  CostCurve curve = measured(rising);
  for (int i = 0; i < 100; ++i) curve.observe(4, rising(4));
  for (int i = 0; i < 12; ++i) curve.observe(4, 2 * rising(4));
  EXPECT_NEAR(curve.at(4), 2 * rising(4), 0.1 * rising(4)) << "within a dozen steps";
  EXPECT_GT(curve.at(64), 1.6 * rising(64)) << "never seen since, but on the same machine";
}

TEST(CostCurve, AShortTimeIsBelievedAtOnce) {
  CostCurve curve = measured([](double) { return 30.0; });
  curve.observe(1, 10.0);
  EXPECT_NEAR(curve.at(1), 10.0, 0.7);
  EXPECT_LT(curve.at(128), 18.0) << "nothing else is known of it";
}

TEST(CostCurve, NeighboursFollowMoreThanOthers) {
  CostCurve curve = measured(flat);
  for (int i = 0; i < 40; ++i) curve.observe(1, 10.0);
  for (int i = 0; i < 40; ++i) curve.observe(64, 20.0);
  EXPECT_NEAR(curve.at(64), 20.0, 1.0);
  EXPECT_GT(curve.at(96), 16.0);
  EXPECT_LT(curve.at(4), curve.at(96));
  EXPECT_NEAR(curve.at(1), 10.0, 1.5) << "it was seen itself";
}

TEST(CostCurve, WhatIsNotSeenForLongIsInDoubt) {
  CostCurve curve = measured(rising);
  for (int i = 0; i < 20; ++i) {
    curve.observe(1, rising(1));
    curve.observe(16, rising(16));
  }
  const double at_first = curve.doubt(16, 1);
  EXPECT_LT(at_first, 0.06);
  EXPECT_GT(curve.doubt(128, 1), 2 * at_first) << "it has never been seen";
  for (int i = 0; i < 1000; ++i) curve.observe(1, rising(1));
  EXPECT_GT(curve.doubt(16, 1), 1.3 * at_first);
}

TEST(CostCurve, PeaksOfAMeasurementAreFlattened) {
  CostCurve curve(1.0, 0.0);
  for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i)
    curve.set(CostCurve::kRows[i], 10.0 + static_cast<double>(i));
  curve.set(1, 13.0);
  curve.set(16, 99.0);
  curve.flatten_peaks();
  EXPECT_NEAR(curve.at(1), 11.0, 1e-9);
  EXPECT_NEAR(curve.at(16), 17.0, 1e-9);
  EXPECT_NEAR(curve.at(128), 23.0, 1e-9);
}

TEST(CostCurve, WhatIsInDoubtFollowsItsNeighbours) {
  CostCurve curve(1.0, 0.0);
  for (const double rows : CostCurve::kRows) curve.set(rows, rising(rows), rows > 64 ? 1.0 : 0.0);
  curve.set(96, 50.0, 1.0);
  curve.set(128, 50.0, 1.0);
  curve.settle();
  EXPECT_NEAR(curve.at(64), rising(64), 1e-9);
  EXPECT_LT(curve.at(128), 1.2 * rising(64));
  EXPECT_GT(curve.doubt(128, 64), 2 * curve.doubt(64, 32)) << "a step there is believed at once";
}

TEST(CostCurve, ABusyMinuteIsNotKept) {
  CostCurve curve = measured(rising);
  for (int i = 0; i < 2000; ++i) curve.observe(4, 3 * rising(4));
  EXPECT_GT(curve.at(4), 2.5 * rising(4)) << "it is believed while it lasts";
  for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i)
    EXPECT_NEAR(curve.fastest_ms(i) / rising(CostCurve::kRows[i]), 1, 0.3);
  for (int i = 0; i < 40; ++i) curve.observe(4, rising(4));
  EXPECT_NEAR(curve.fastest_ms(2) / rising(4), 1, 0.05);
}

TEST(CostCurve, AMachineThatHasBecomeSlowerIsBelievedInTheEnd) {
  CostCurve curve = measured(rising);
  for (int i = 0; i < 40000; ++i) curve.observe(4, 2 * rising(4));
  EXPECT_GT(curve.fastest_ms(2), 1.9 * rising(4));
}

TEST(CostCurve, OfTwoMeasurementsTheShorterTimesStay) {
  CostCurve curve = measured(rising);
  CostCurve busy(1.0, 0.0);
  for (const double rows : CostCurve::kRows) busy.set(rows, rows == 8 ? 11.0 : 30.0, 0.3);
  curve.improve(busy);
  EXPECT_NEAR(curve.at(16), rising(16), 1e-9);
  EXPECT_NEAR(curve.fastest_ms(4), 11.0, 1e-9);
  CostCurve twice(1.0, 0.0);
  for (const double rows : CostCurve::kRows) twice.set(rows, 30.0, 0.3);
  twice.improve(twice);
  EXPECT_NEAR(twice.fastest().doubt(), 0.15, 1e-9) << "what was measured twice is half as much in doubt";
}

TEST(CostModel, FirstStepsThatContradictAMeasurementPutAllOfItInDoubt) {
  CostModel costs;
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 2 * rising(rows));
  for (const double rows : CostCurve::kRows) costs.drafter("draft").levels().set(rows, 2);
  for (int i = 0; i < 2; ++i) costs.observe_step(1, 0, 1.9 * rising(1), 0.05);
  EXPECT_LT(costs.verify_curve().fastest().doubt(), CalmTimes::kDisturbed);
  for (int i = 0; i < 4; ++i) costs.observe_step(1, 0, rising(1), 0.05);
  EXPECT_GT(costs.verify_curve().fastest().doubt(), CalmTimes::kDisturbed);
  EXPECT_GT(costs.drafter("draft").levels().fastest().doubt(), CalmTimes::kDisturbed);
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

TEST(CostModel, OptimismMakesRowsCheaperTheLessTheyAreKnown) {
  CostModel costs;
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, rising(rows));
  for (int i = 0; i < 50; ++i) costs.observe_step(4, 0, rising(4), 0.05);
  std::vector<double> believed(200);
  std::vector<double> hoped(200);
  costs.optimistic_rows_ms(1, 0, 0, believed);
  costs.optimistic_rows_ms(1, 0, 0.25, hoped);
  EXPECT_EQ(believed[0], 0);
  EXPECT_NEAR(believed[63], costs.verify_ms(64, 0) - costs.verify_ms(1, 0), 1e-9);
  EXPECT_NEAR(believed[150], costs.verify_ms(151, 0) - costs.verify_ms(1, 0), 0.1);
  for (std::size_t n = 1; n < hoped.size(); ++n) {
    EXPECT_GE(hoped[n], hoped[n - 1]) << n;
    EXPECT_LE(hoped[n], believed[n] + 1e-9) << n;
  }
  EXPECT_LT(hoped[127] / believed[127], 0.95);
  EXPECT_GT(hoped[3] / believed[3], 0.35) << "it has been seen";
}

TEST(CostCurve, GapsBendAsTheyAreToldTo) {
  const auto bent = [](double rows) { return 30 * (1 - std::pow(0.9, rows)); };
  std::array<double, CostCurve::kRows.size()> by_knot{};
  for (std::size_t i = 0; i < by_knot.size(); ++i) by_knot[i] = bent(CostCurve::kRows[i]);
  CostCurve curve(1.0, 0.0);
  for (const double rows : {1.0, 8.0, 64.0}) curve.set(rows, 5 + 0.1 * rows + bent(rows));
  curve.settle(by_knot);
  for (const double rows : CostCurve::kRows)
    EXPECT_NEAR(curve.at(rows), 5 + 0.1 * rows + bent(rows), 1e-9) << rows;
}

/// A mixture of experts, and how much its rows repeat one another's choices.
struct Mixture {
  double pool = 40;
  double ms(double rows, double woken) const { return 4 + 0.05 * rows + 0.1 * woken; }
  double woken(double rows) const { return ExpertDemand(static_cast<int>(pool), 8, 1).even(rows); }
};

CostModel of_even_rows(const Mixture& mixture) {
  CostModel costs(ExpertDemand(128, 8, 1));
  for (const double rows : CostCurve::kRows)
    costs.verify_curve().set(rows, mixture.ms(rows, costs.experts().even(rows)));
  costs.set_expert_share(0.1 / mixture.ms(1, 8));
  return costs;
}

TEST(CostModel, RowsThatChooseAlikeCostLess) {
  const Mixture mixture;
  CostModel costs = of_even_rows(mixture);
  EXPECT_NEAR(costs.expert_ms(), 0.1, 1e-9);
  EXPECT_NEAR(costs.verify_ms(16, 0), mixture.ms(16, costs.experts().even(16)), 1e-9);
  std::mt19937 random(3);
  std::normal_distribution<double> spread(0, 3);
  for (int step = 0; step < 300; ++step) {
    const double woken = mixture.woken(12) + spread(random);
    costs.observe_step(12, 0, mixture.ms(12, woken), 0.05, woken);
    costs.observe_step(1, 0, mixture.ms(1, 8), 0.05, 8);
  }
  for (const double rows : {1.0, 2.0, 8.0, 12.0, 16.0, 32.0, 64.0}) {
    const double true_ms = mixture.ms(rows, mixture.woken(rows));
    EXPECT_NEAR(costs.verify_ms(rows, 0), true_ms, 0.02 * true_ms)
        << rows << " rows, of which only 12 were seen";
  }
}

TEST(CostModel, AMachineThatGetsSlowerReadsExpertsSlowerToo) {
  const Mixture mixture;
  CostModel costs = of_even_rows(mixture);
  for (int step = 0; step < 200; ++step) {
    costs.observe_step(12, 0, 2 * mixture.ms(12, mixture.woken(12)), 0.05, mixture.woken(12));
    costs.observe_step(1, 0, 2 * mixture.ms(1, 8), 0.05, 8);
  }
  EXPECT_NEAR(costs.expert_ms(), 0.2, 0.01);
  EXPECT_NEAR(costs.verify_ms(12, 0), 2 * mixture.ms(12, mixture.woken(12)), 0.2);
}

TEST(CostModel, NoForwardOfMoreRowsIsShorterThanAPlainOne) {
  CostModel costs = of_even_rows({});
  costs.set_expert_share(100);  // as of a disturbed measurement
  EXPECT_LE(costs.expert_ms() * 8, costs.verify_ms(1, 0) + 1e-9);
  for (int step = 0; step < 20; ++step) costs.experts().observe(16, 8);
  for (const double rows : CostCurve::kRows)
    EXPECT_GE(costs.verify_ms(rows, 0), costs.verify_ms(1, 0)) << rows;
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
  costs.verify_curve().settle();
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
  EXPECT_NEAR(draft.level_ms(0, 1), 2.0, 0.02);
  EXPECT_NEAR(draft.level_ms(3, 4), 1.0, 0.03);
  EXPECT_NEAR(draft.level_ms(1, 8), 1.5, 0.03);
}

}  // namespace
}  // namespace augur
