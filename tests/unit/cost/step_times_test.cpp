#include "cost/step_times.h"

#include <gtest/gtest.h>

namespace augur {
namespace {

constexpr double kLogitsShare = 0.25;

/// A machine on which a row takes as long as any other, logits a quarter of it.
double ms_of(double rows) {
  return 10 + rows;
}

StepTimes::Measured took(const StepRows& rows, double factor = 1) {
  return {.forward_ms = factor * (1 - kLogitsShare) * ms_of(rows.all()),
          .logits_ms = factor * (rows.trees > 0 ? kLogitsShare * ms_of(rows.trees) : 0),
          .other_ms = 0.1};
}

class StepTimesTest : public testing::Test {
 protected:
  StepTimesTest() {
    for (const double rows : CostCurve::kRows) costs_.verify_curve().set(rows, ms_of(rows));
    costs_.other_curve().set(1, 0.1);
  }
  CostModel costs_;
  StepTimes times_{costs_};
};

TEST_F(StepTimesTest, WhatPromptsTakeIsNotTheTrees) {
  const StepRows trees{.trees = 4};
  for (int i = 0; i < 20; ++i) times_.observe(trees, took(trees));
  const StepRows shared{.trees = 4, .prompts = 96};
  EXPECT_NEAR(times_.trees_ms(shared, took(shared)), ms_of(4), 0.05 * ms_of(4));
  EXPECT_NEAR(times_.trees_ms(shared, took(shared, 2)), 2 * ms_of(4), 0.1 * ms_of(4)) << "a slow moment";
  EXPECT_DOUBLE_EQ(times_.trees_ms(trees, took(trees)), ms_of(4) * 0.75 + ms_of(4) * 0.25);
}

TEST_F(StepTimesTest, PromptsAloneLeaveTreesNothing) {
  const StepRows prompts{.prompts = 96};
  EXPECT_EQ(times_.trees_ms(prompts, took(prompts)), 0);
}

TEST_F(StepTimesTest, StepsWithPromptsCorrectTheCosts) {
  const StepRows trees{.trees = 4};
  for (int i = 0; i < 20; ++i) times_.observe(trees, took(trees));
  const StepRows shared{.trees = 4, .prompts = 124};
  for (int i = 0; i < 40; ++i) times_.observe(shared, took(shared, 1.5));
  EXPECT_NEAR(costs_.verify_ms(128, 0), 1.5 * ms_of(128), 0.1 * ms_of(128));
}

TEST_F(StepTimesTest, PromptsThatTakeWhatTheyShouldChangeNothing) {
  const StepRows trees{.trees = 4};
  for (int i = 0; i < 20; ++i) times_.observe(trees, took(trees));
  for (const double prompts : {28.0, 124.0, 252.0}) {
    const StepRows shared{.trees = 4, .prompts = prompts};
    for (int i = 0; i < 40; ++i) times_.observe(shared, took(shared));
  }
  for (const double rows : {1.0, 4.0, 32.0, 128.0}) {
    EXPECT_NEAR(costs_.verify_ms(rows, 0), ms_of(rows), 0.05 * ms_of(rows)) << rows << " rows";
  }
}

TEST_F(StepTimesTest, BeforeLogitsWereTimedPromptsSayNothing) {
  const StepRows prompt{.prompts = 256};
  for (int i = 0; i < 40; ++i) times_.observe(prompt, took(prompt, 3));
  EXPECT_DOUBLE_EQ(costs_.verify_ms(128, 0), ms_of(128));
}

}  // namespace
}  // namespace augur
