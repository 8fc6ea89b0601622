#include "lab/suite/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/suite/keys.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

constexpr double kTiny = 1e-9;

PromptSet two_prompts() {
  return {"suite", {{"a", "x", {"first"}}, {"b", "y", {"second"}}}};
}

class FiguresTest : public testing::Test {
 protected:
  /// `tokens` tokens of prompt `which` in `ms`, by `method`.
  void add(std::size_t which, const std::string& method, int round, std::int64_t tokens, double ms,
           const std::string& output = "same") {
    Cell cell;
    cell.key = {prompt_key(set_.name, set_.prompts[which]), method, round};
    cell.tokens = tokens;
    cell.decode_ms = ms;
    cell.prompt_ms = 10;
    cell.speculation.calls = method == "plain" ? tokens : tokens / 2;
    cell.speculation.accepted_tokens = tokens - cell.speculation.calls;
    cell.speculation.verified_tokens = 3 * cell.speculation.calls;
    cell.speculation.verify_ms = ms;
    cell.forecasts.tokens = static_cast<double>(tokens);
    cell.output = output;
    state_.add(cell);
  }
  SuiteFigures figures(int rounds) { return suite_figures(set_, {"plain", "fast"}, rounds, state_); }

  testing_support::TemporaryFolder folder_;
  PromptSet set_ = two_prompts();
  StateFile state_{folder_.path() / "s.jsonl", {{"augur_suite", 1}}};
};

TEST_F(FiguresTest, RatesAreMeansOverPromptsAndSpeedupTheirRatio) {
  add(0, "plain", 0, 100, 1000);  // 100 a second
  add(1, "plain", 0, 100, 500);   // 200
  add(0, "fast", 0, 100, 250);    // 400
  add(1, "fast", 0, 100, 500);    // 200
  const SuiteFigures f = figures(1);
  EXPECT_EQ(f.prompts, 2);
  EXPECT_NEAR(f.methods[0].tokens_per_second, 150, kTiny);
  EXPECT_NEAR(f.methods[1].tokens_per_second, 300, kTiny);
  EXPECT_NEAR(f.methods[1].speedup, 2.0, kTiny);
  EXPECT_NEAR(f.methods[1].by_prompt.low, 1.0, kTiny);
  EXPECT_NEAR(f.methods[1].by_prompt.high, 4.0, kTiny);
  EXPECT_EQ(f.methods[1].slowest_id, "b");
  EXPECT_NEAR(f.methods[1].with_prompt_per_second, (100 / 0.26 + 100 / 0.51) / 2, kTiny);
  EXPECT_EQ(f.methods[1].tau(), 2.0);
  EXPECT_EQ(f.methods[0].tau(), 1.0);
  EXPECT_EQ(f.methods[1].sum.verified_tokens, 300);
  EXPECT_NEAR(f.methods[0].share_of_best, (0.25 + 1) / 2, kTiny);
  EXPECT_EQ(f.methods[1].share_of_best, 1);
}

TEST_F(FiguresTest, OverRoundsMediansCountAndCountsAreAdded) {
  for (int round = 0; round < 3; ++round) {
    add(0, "plain", round, 100, 1000);
    add(1, "plain", round, 100, 1000);
    add(1, "fast", round, 100, 500);
  }
  add(0, "fast", 0, 100, 500);
  add(0, "fast", 1, 100, 5000);  // something disturbed it
  add(0, "fast", 2, 100, 400);
  const MethodFigures f = figures(3).methods[1];
  EXPECT_NEAR(f.speedup, 2.0, kTiny);
  EXPECT_NEAR(f.by_round.low, 1.1, kTiny);
  EXPECT_NEAR(f.by_round.high, 2.25, kTiny);
  EXPECT_EQ(f.tokens, 600);
  EXPECT_EQ(f.sum.calls, 300);
  EXPECT_EQ(f.forecasts.tokens, 600);
  EXPECT_NEAR(f.sum.verify_ms, 3 * 500 + 500 + 5000 + 400, kTiny);
}

TEST_F(FiguresTest, CallsAndTheirTimesAreOfTheSameRounds) {
  for (int round = 0; round < 2; ++round) {
    add(0, "plain", round, 100, 1000);
    add(1, "plain", round, 100, 1000);
    add(1, "fast", round, 100, 500);
  }
  add(0, "fast", 0, 100, 500);
  add(0, "fast", 1, 20, 2000);  // ten calls instead of fifty, each of them slower
  const MethodFigures f = figures(2).methods[1];
  EXPECT_EQ(f.sum.calls, 160);
  EXPECT_NEAR(f.sum.verify_ms / static_cast<double>(f.sum.calls), 3500.0 / 160, kTiny);
  EXPECT_EQ(f.tau(), 2);
}

TEST_F(FiguresTest, PromptsThatSomeMethodHasNotRunAreLeftOut) {
  add(0, "plain", 0, 100, 1000);
  add(1, "plain", 0, 100, 1000);
  add(0, "fast", 0, 100, 500);
  const SuiteFigures f = figures(1);
  EXPECT_EQ(f.prompts, 1);
  EXPECT_EQ(f.planned, 2);
  EXPECT_EQ(f.methods[0].tokens, 100);
}

TEST_F(FiguresTest, CountsPromptsWhoseOutputDiffersInAnyRound) {
  for (int round = 0; round < 2; ++round) {
    add(0, "plain", round, 100, 1000);
    add(1, "plain", round, 100, 1000);
    add(0, "fast", round, 100, 500);
    add(1, "fast", round, 100, 500, round == 1 ? "other" : "same");
  }
  const SuiteFigures f = figures(2);
  EXPECT_EQ(f.methods[0].different, 0);
  EXPECT_EQ(f.methods[1].different, 1);
}

TEST_F(FiguresTest, OverallIsTheMeanOfSuitesAndTheSumOfCounts) {
  SuiteFigures first{"one", 1, 1, std::vector<MethodFigures>(2)};
  SuiteFigures second = first;
  second.suite = "two";
  first.methods[1] = {.speedup = 3, .by_prompt = {2.5, 3, 3.5}, .slowest_id = "a", .tokens = 30};
  first.methods[1].sum.calls = 10;
  second.methods[1] = {.speedup = 1, .by_prompt = {0.5, 1, 1.5}, .slowest_id = "b", .tokens = 10};
  second.methods[1].sum.calls = 10;
  // One of them was quick in the first round, the other one in the second.
  first.methods[1].round_speedups = {4, 2, 3};
  second.methods[1].round_speedups = {0.5, 1.5, 0};
  const auto all = overall_figures({first, {"empty", 0, 4, {}}, second});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].speedup, 2);
  EXPECT_EQ(all[1].tau(), 2);
  EXPECT_EQ(all[1].by_round.low, 1.75);
  EXPECT_EQ(all[1].by_round.high, 2.25);
  EXPECT_EQ(all[1].by_prompt.low, 0.5);
  EXPECT_EQ(all[1].by_prompt.high, 3.5);
  EXPECT_EQ(all[1].slowest_id, "two b");
}

TEST(SpreadOf, KnowsItsMiddle) {
  const Spread spread = spread_of({3, 1, 2});
  EXPECT_EQ(spread.low, 1);
  EXPECT_EQ(spread.middle, 2);
  EXPECT_EQ(spread.high, 3);
  EXPECT_EQ(spread_of({}).high, 0);
}

}  // namespace
}  // namespace augur
