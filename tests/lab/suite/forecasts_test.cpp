#include "lab/suite/forecasts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace augur {
namespace {

constexpr float kHalf = -0.6931472f;
constexpr double kTolerance = 1e-6;

/// The root, two children of probability 1/2 and 1/4, and a child of the first; by two drafters.
DraftTree small_tree() {
  DraftTree tree;
  tree.reset(1, 110);
  tree.add(0, 2, kHalf, 1);
  tree.add(0, 3, 2 * kHalf, 1);
  tree.add(1, 4, kHalf, 2);
  return tree;
}

/// 1 row: 10 ms, 3 rows: 12 ms, at 100 tokens of text; one per cent more for every further token.
const MeasuredCosts kCosts = {.context = 100,
                              .verify = {{1, 3}, {10, 12}},
                              .growth_one = 0.01,
                              .growth_many = 0.02,
                              .other_ms = 0.5,
                              .drafters = {{"first", {{1, 2}, {2.0, 3.0}}, {{1, 2}, {1.0, 1.5}}},
                                           {"second", {{1, 2}, {4.0, 4.0}}, {{1, 2}, {0.25, 0.25}}}},
                              .file = {}};

class ForecastsTest : public testing::Test {
 protected:
  StepTrace round(std::span<const std::int32_t> path, RoundMode mode) const {
    StepTrace trace;
    trace.next = 9;
    trace.drafted = 3;
    trace.batch_rows = 4;
    trace.draft_ms = 3;
    trace.verify_ms = 12;
    trace.other_ms = 1;
    trace.tree = &tree_;
    trace.path = path;
    trace.context = 110;
    trace.forecast = {.mode = mode, .tokens = 2, .ms = 14};
    return trace;
  }

  DraftTree tree_ = small_tree();
  const std::vector<std::int32_t> both_ = {0, 1,
                                           3};  ///< the root, a node of the first drafter, one of the second
  const std::vector<std::int32_t> none_ = {0};
  const std::vector<std::string> drafters_ = {"first", "second"};
};

TEST_F(ForecastsTest, ComparesWhatWasForecastOfSteeredRoundsWithWhatCame) {
  Forecasts f;
  f.observe(round(both_, RoundMode::Speculate), {}, drafters_);
  f.observe(round(none_, RoundMode::Plain), {}, drafters_);
  f.observe(round(none_, RoundMode::Fixed), {}, drafters_);
  EXPECT_EQ(f.steered(), 2);
  EXPECT_EQ(f.of(RoundMode::Plain), 1);
  EXPECT_EQ(f.forecast_tokens, 4);
  EXPECT_EQ(f.tokens, 4);
  EXPECT_EQ(f.forecast_ms, 28);
  EXPECT_EQ(f.ms, 32);
  EXPECT_EQ(f.oracle_per_second(), 0) << "no costs are known";
}

TEST_F(ForecastsTest, OnlyChildrenOfAcceptedNodesHaveOutcomes) {
  Forecasts f;
  f.observe(round(both_, RoundMode::Fixed), {}, drafters_);
  EXPECT_EQ(f.bins[2].nodes, 1) << "a quarter: the sibling";
  EXPECT_EQ(f.bins[2].accepted, 0);
  EXPECT_EQ(f.bins[4].nodes + f.bins[5].nodes, 2) << "two halves";
  EXPECT_EQ(f.bins[4].accepted + f.bins[5].accepted, 2);
  Forecasts nothing;
  nothing.observe(round(none_, RoundMode::Fixed), {}, drafters_);
  EXPECT_EQ(nothing.bins[2].nodes, 1);
  EXPECT_EQ(nothing.bins[4].nodes + nothing.bins[5].nodes, 1) << "below the rejected node nothing is known";
}

TEST_F(ForecastsTest, TheOracleDraftsAndVerifiesWhatIsAcceptedAlone) {
  Forecasts f;
  f.observe(round(both_, RoundMode::Fixed), kCosts, drafters_);
  EXPECT_EQ(f.oracle_tokens, 3);
  EXPECT_NEAR(f.oracle_ms, 12 * 1.1 + 0.5 + 2.0 + 0.25, kTolerance);
  EXPECT_NEAR(f.oracle_per_second(), 3000 / f.oracle_ms, kTolerance);
  Forecasts plain;
  plain.observe(round(none_, RoundMode::Fixed), kCosts, drafters_);
  EXPECT_NEAR(plain.oracle_ms, 10 * 1.1 + 0.5, kTolerance);
}

TEST_F(ForecastsTest, SumsCanBeAddedKeptAndReadAgain) {
  Forecasts once;
  once.observe(round(both_, RoundMode::Probe), kCosts, drafters_);
  Forecasts twice = once;
  twice.add(once);
  EXPECT_EQ(twice.of(RoundMode::Probe), 2);
  EXPECT_EQ(twice.oracle_ms, 2 * once.oracle_ms);
  EXPECT_EQ(to_json(forecasts_of(to_json(twice))), to_json(twice));
  EXPECT_THROW(forecasts_of(nlohmann::json{1, 2}), nlohmann::json::exception);
  EXPECT_EQ(summary(twice)["probed"], 2);
  EXPECT_EQ(summary(twice)["calibration"][0]["observed"], 0.0);
  EXPECT_NEAR(summary(twice)["calibration"][0]["predicted"].get<double>(), 0.25, kTolerance);
}

}  // namespace
}  // namespace augur
