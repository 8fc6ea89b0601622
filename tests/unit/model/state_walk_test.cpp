#include "model/state_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace augur {
namespace {

using Path = std::vector<std::int64_t>;

/// Random trees whose first rows belong to an earlier pass.
std::vector<StateWalk::Row> random_rows(std::mt19937& random) {
  const int count = 1 + static_cast<int>(random() % 24);
  const int earlier = static_cast<int>(random() % static_cast<unsigned>(count));
  std::vector<StateWalk::Row> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({.parent = static_cast<std::int32_t>(random() % static_cast<unsigned>(i + 1)) - 1,
                    .step = {i < earlier ? StateStep::Replay : StateStep::Run, i}});
  }
  return rows;
}

Path path_to(const std::vector<StateWalk::Row>& rows, std::int32_t row) {
  Path path;
  for (; row >= 0; row = rows[static_cast<std::size_t>(row)].parent) path.insert(path.begin(), row);
  return path;
}

TEST(StateWalk, EveryRowIsRunOnceBehindItsAncestors) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    StateWalk walk;
    walk.rows = random_rows(random);
    std::vector<StateStep> steps;
    const int aside = walk.walk(steps);
    std::vector<Path> kept(static_cast<std::size_t>(aside));
    std::vector<int> run(walk.rows.size());
    Path state;
    for (const StateStep& step : steps) {
      if (step.kind == StateStep::PutAside) kept.at(static_cast<std::size_t>(step.at)) = state;
      if (step.kind == StateStep::Recall) state = kept.at(static_cast<std::size_t>(step.at));
      if (step.kind != StateStep::Run && step.kind != StateStep::Replay) continue;
      state.push_back(step.at);
      ASSERT_EQ(state, path_to(walk.rows, static_cast<std::int32_t>(step.at)));
      ++run[static_cast<std::size_t>(step.at)];
    }
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (walk.rows[i].step.kind == StateStep::Run) {
        ASSERT_EQ(run[i], 1);
      } else {
        ASSERT_LE(run[i], 1) << "an earlier row is replayed once, and only where something follows it";
      }
    }
  }
}

TEST(StateWalk, AChainPutsNothingAsideAndFoldsWhereItIsSaid) {
  StateWalk walk;
  for (std::int32_t i = 0; i < 4; ++i)
    walk.rows.push_back({.parent = i - 1, .step = {StateStep::Run, i}, .folds = i == 2});
  std::vector<StateStep> steps;
  EXPECT_EQ(walk.walk(steps), 0);
  const std::vector<StateStep> expected = {{StateStep::Run, 0},
                                           {StateStep::Run, 1},
                                           {StateStep::Run, 2},
                                           {StateStep::Fold, 0},
                                           {StateStep::Run, 3}};
  EXPECT_EQ(steps, expected);
}

TEST(StateWalk, EarlierRowsThatNothingFollowsAreLeftOut) {
  StateWalk walk;
  walk.rows = {{.parent = -1, .step = {StateStep::Replay, 10}},
               {.parent = 0, .step = {StateStep::Replay, 11}},
               {.parent = 0, .step = {StateStep::Run, 12}}};
  std::vector<StateStep> steps;
  EXPECT_EQ(walk.walk(steps), 0);
  const std::vector<StateStep> expected = {{StateStep::Replay, 10}, {StateStep::Run, 12}};
  EXPECT_EQ(steps, expected);
}

}  // namespace
}  // namespace augur
