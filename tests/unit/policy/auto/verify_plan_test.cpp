#include "policy/auto/verify_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace augur {
namespace {

/// The first eight rows next to nothing, then a cliff: what small tiles of quantised weights look like.
CostModel cliff() {
  CostModel costs;
  for (const double rows : CostCurve::kRows) {
    costs.verify_curve().set(rows, rows <= 8 ? 10 + 0.05 * (rows - 1) : 10.35 + (rows - 8));
  }
  return costs;
}

TEST(VerifyPlan, CheapRowsBeforeACliffAreWorthUnlikelyNodes) {
  const CostModel costs = cliff();
  VerifyPlan plan;
  plan.begin(costs, 0, 1, 0.1, 127);
  EXPECT_LT(plan.threshold(), 0.02) << "a row of the first eight costs 0.005 tokens, of the others 0.1";
  const std::vector<float> falling(20, 0.03f);
  EXPECT_EQ(plan.best(falling).nodes, 7);
}

TEST(VerifyPlan, NoThresholdExceedsWhatARowCosts) {
  CostModel costs;
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 9 + rows);
  VerifyPlan plan;
  for (const int room : {1, 3, 40}) {
    plan.begin(costs, 0, 1, 0.1, room);
    EXPECT_NEAR(plan.threshold(), 0.1, 1e-9) << room;
    EXPECT_EQ(plan.most_nodes(), room);
  }
}

}  // namespace
}  // namespace augur
