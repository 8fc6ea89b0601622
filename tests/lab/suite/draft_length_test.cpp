#include "lab/papers/draft_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

// -ln 9 / ln 0.7 = 2.19722 / 0.35667: the overview's own example, "4 to 8 tokens".
TEST(DraftLength, IsTheOverviewsFormula) {
  EXPECT_NEAR(overview_draft_length(0.7, 10), 6.1603, 1e-4);
  EXPECT_NEAR(overview_draft_length(0.5, 5), 2.0, 1e-12) << "ln 4 / ln 2";
  EXPECT_NEAR(overview_draft_length(0.7, 2), 0.0, 1e-12) << "ln 1";
  EXPECT_LT(overview_draft_length(0.7, 1.5), 0);
  EXPECT_THAT(error_of([] { overview_draft_length(0.7, 1); }), HasSubstr("more than 1"));
  EXPECT_THAT(error_of([] { overview_draft_length(1, 10); }), HasSubstr("between 0 and 1"));
}

TEST(DraftLength, TheOverviewsTokensAndSpeedup) {
  EXPECT_DOUBLE_EQ(overview_tokens(0.5, 2), 0.75 / 0.5 + 0.25 * 2);
  EXPECT_DOUBLE_EQ(overview_speedup(0.5, 2, 4), 2.0 / 1.25);
  EXPECT_GT(overview_tokens(0.99, 8), 8 + 1) << "more than were drafted, with the target's own";
}

TEST(DraftLength, FollowsFromTheSameAssumptions) {
  EXPECT_DOUBLE_EQ(expected_tokens(0.5, 2), 1.75) << "1 + 0.5 + 0.25";
  EXPECT_DOUBLE_EQ(expected_speedup(0.5, 2, 4), 1.75 / 1.5);
  // c = 4, alpha = 0.5: 1, 1.5/1.25 = 1.2, 1.75/1.5 = 1.167.
  EXPECT_EQ(best_draft_length(0.5, 4), 1);
  EXPECT_EQ(best_draft_length(0.2, 2), 0) << "1.2 / 1.5 is less than nothing drafted";
  EXPECT_EQ(best_draft_length(0.9, 1e9, 7), 7);
}

TEST(DraftLength, TakesChanceAndCostFromAChain) {
  // 100 calls reached depth 1, 60 were accepted there, 30 at depth 2: 90 of 160.
  const nlohmann::ordered_json plain = {{"verify_ms", 900.0}, {"other_ms", 100.0}, {"calls", 100}};
  const nlohmann::ordered_json chain = {
      {"accepted_per_position", {60, 30}}, {"calls", 100}, {"draft_ms", 400.0}, {"drafted_tokens", 200}};
  const ChainFigures figures = chain_figures(plain, chain);
  EXPECT_DOUBLE_EQ(figures.alpha, 90.0 / 160);
  EXPECT_DOUBLE_EQ(figures.c, 10.0 / 2);
  const std::string text = draft_lengths(figures);
  EXPECT_THAT(text, HasSubstr("alpha 0.562, c 5.00"));
  EXPECT_THAT(text, HasSubstr("the overview's length: 2.41")) << "ln 4 / -ln 0.5625";
  EXPECT_THAT(draft_lengths({.alpha = 0.5, .c = 0.9}), HasSubstr("none, drafting costs as much"));
  EXPECT_THAT(draft_lengths({}), HasSubstr("nothing to say"));
}

}  // namespace
}  // namespace augur
