#include "cost/expert_demand.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

namespace augur {
namespace {

constexpr int kCount = 128;
constexpr int kActive = 8;

/// Routers of a few layers whose experts are not liked alike: the k-th is chosen 1 / (k + offset) as often.
class Routers {
 public:
  explicit Routers(double offset) {
    std::vector<double> liking;
    for (int i = 0; i < kCount; ++i) liking.push_back(1 / (i + offset));
    choice_ = std::discrete_distribution<int>(liking.begin(), liking.end());
  }
  double woken(int rows) {
    std::set<int> experts;
    for (int row = 0; row < rows; ++row) {
      std::set<int> own;
      while (std::ssize(own) < kActive) own.insert(choice_(random_));
      experts.insert(own.begin(), own.end());
    }
    return static_cast<double>(experts.size());
  }
  double mean(int rows) {
    constexpr int kDraws = 400;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += woken(rows);
    return sum / kDraws;
  }

 private:
  std::mt19937 random_{5};
  std::discrete_distribution<int> choice_;
};

TEST(ExpertDemand, RowsThatChooseEvenlyWakeWhatCountingSays) {
  const ExpertDemand demand(kCount, kActive, 3);
  EXPECT_NEAR(demand.even(1), 3 * 8, 1e-9);
  EXPECT_NEAR(demand.even(2), 3 * (8 + 8 * 120.0 / 128), 1e-9);
  EXPECT_NEAR(demand.even(1e6), 3 * 128, 1e-9);
  for (const double rows : {1.0, 2.0, 16.0, 64.0, 300.0}) {
    EXPECT_NEAR(demand.at(rows), demand.even(rows), 1e-9) << "nothing was seen";
  }
}

TEST(ExpertDemand, LearnsHowUnevenlyRoutersChoose) {
  for (const double offset : {3.0, 20.0, 1000.0}) {
    Routers routers(offset);
    ExpertDemand demand(kCount, kActive, 1);
    for (int step = 0; step < 200; ++step) {
      for (const int rows : {1, 4, 7, 24}) demand.observe(rows, routers.woken(rows));
    }
    EXPECT_NEAR(demand.at(1), kActive, 1e-9);
    for (const int rows : {3, 5, 10, 24}) {
      EXPECT_NEAR(demand.at(rows) / routers.mean(rows), 1, 0.05) << rows << " rows, " << offset;
    }
    // Where nobody looked the nearest row count's pool stands in, which is too small for many more rows of
    // routers that like few experts much.
    for (const int rows : {2, 48, 64}) {
      EXPECT_NEAR(demand.at(rows) / routers.mean(rows), 1, 0.25) << rows << " rows, never seen, " << offset;
    }
  }
}

TEST(ExpertDemand, OneLookAtEachRowCountReplacesTheGuess) {
  // What a probe counts in a random Qwen3-MoE whose rows choose far more alike than evenly (3 layers), in the
  // probe's order.
  const std::vector<std::pair<int, double>> looks = {{64, 138}, {16, 92},  {8, 76}, {32, 116},
                                                     {4, 59},   {24, 106}, {2, 36}, {12, 86},
                                                     {48, 133}, {20, 99},  {6, 69}};
  ExpertDemand demand(kCount, kActive, 3);
  ASSERT_GT(demand.at(64), 2.5 * 138) << "evenness guesses far more";
  demand.observe(looks[0].first, looks[0].second);
  EXPECT_NEAR(demand.at(64) / 138, 1, 0.02);
  EXPECT_LT(demand.at(32), 0.6 * demand.even(32)) << "and tells of other row counts";
  for (std::size_t i = 1; i < looks.size(); ++i) demand.observe(looks[i].first, looks[i].second);
  for (const auto& [rows, woken] : looks) EXPECT_NEAR(demand.at(rows) / woken, 1, 0.07) << rows << " rows";
  // A curve that bends stays bent, however often it is seen.
  for (int again = 0; again < 20; ++again) {
    for (const auto& [rows, woken] : looks) demand.observe(rows, woken);
  }
  for (const auto& [rows, woken] : looks) EXPECT_NEAR(demand.at(rows) / woken, 1, 0.07) << rows << " rows";
}

TEST(ExpertDemand, FollowsATextThatIsAnother) {
  ExpertDemand demand(kCount, kActive, 1);
  for (int step = 0; step < 1000; ++step) demand.observe(16, 30);
  for (int step = 0; step < 1000; ++step) demand.observe(16, 70);
  EXPECT_NEAR(demand.at(16), 70, 2);
}

TEST(ExpertDemand, KeepsToWhatIsPossible) {
  ExpertDemand demand(kCount, kActive, 1);
  demand.observe(16, 1e9);
  EXPECT_LE(demand.at(2), 2 * kActive);
  EXPECT_LE(demand.at(500), kCount);
  demand = ExpertDemand(kCount, kActive, 1);
  for (int step = 0; step < 100; ++step) demand.observe(16, kActive);
  EXPECT_GE(demand.at(1), kActive);
  EXPECT_NEAR(demand.at(16), kActive, 0.1) << "all rows go the same way";
  demand.observe(0, 5);
  demand.observe(16, std::nan(""));
  EXPECT_NEAR(demand.at(16), kActive, 0.1);
}

TEST(ExpertDemand, ADenseModelHasNone) {
  ExpertDemand demand;
  demand.observe(16, 4);
  EXPECT_TRUE(demand.dense());
  EXPECT_EQ(demand.at(16), 0);
  EXPECT_EQ(demand.even(16), 0);
}

}  // namespace
}  // namespace augur
