// Scores of nodes against outcomes that are given: which of them is believed.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "policy/auto/score_book.h"

namespace augur {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// Says what the test has written down for the token.
class GivenScore final : public NodeScore {
 public:
  explicit GivenScore(int strata = 1) : strata_(strata) {}
  std::string_view name() const override { return "given"; }
  int strata() const override { return strata_; }
  Reading read(const DraftTree& tree, std::int32_t node) override {
    return by_token[static_cast<std::size_t>(tree.tokens()[static_cast<std::size_t>(node)])];
  }
  std::vector<Reading> by_token;

 private:
  int strata_;
};

/// Rounds with one candidate each, of which the chance to be right is sigmoid(hint + rest): the drafter's own
/// probability knows the hint, the informative score both, the noise neither.
class Rounds {
 public:
  explicit Rounds(std::uint64_t seed) : random_(seed) {}

  struct World {
    double hint = 1;  ///< spread of what the drafter knows, in log-odds
    double rest = 2;  ///< of what it does not
  };
  struct Scores {
    NodeScore::Reading informed;
    NodeScore::Reading noise;
    double own = 0;
    bool accepted = false;
  };
  Scores next(const World& world) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const double hint = world.hint * normal(random_);
    const double rest = world.rest * normal(random_);
    Scores out;
    // Neither is calibrated: a score may be a power of what it should be.
    out.informed = {.log_prob = 2 * std::log(sigmoid(hint + rest)), .stratum = 0};
    out.noise = {.log_prob = std::log(uniform(random_)), .stratum = 0};
    out.own = sigmoid(hint);
    out.accepted = uniform(random_) < sigmoid(hint + rest);
    return out;
  }

 private:
  std::mt19937_64 random_;
};

TEST(ScoreChoice, TheInformativeScoreIsTakenAndForetells) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Rounds rounds(seed);
    GivenScore noise;
    GivenScore informed;
    NodeScore* const scores[] = {&noise, &informed};
    ScoreChoice choice;
    choice.prepare(scores);
    double own_loss = 0;
    double loss = 0;
    for (int i = 0; i < 3000; ++i) {
      const Rounds::Scores s = rounds.next({});
      const NodeScore::Reading readings[] = {s.noise, s.informed};
      if (i >= 1000) {
        ASSERT_EQ(choice.chosen(), 1) << seed << " " << i;
        const double a = choice.acceptance(1, s.informed, 1);
        loss -= std::log(s.accepted ? a : 1 - a);
        own_loss -= std::log(s.accepted ? s.own : 1 - s.own);
      }
      choice.observe(readings, s.own, 1, s.accepted);
    }
    EXPECT_LT(loss, 0.9 * own_loss) << seed;
  }
}

TEST(ScoreChoice, NoiseIsNeverBelieved) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rounds rounds(seed);
    GivenScore noise;
    NodeScore* const scores[] = {&noise};
    ScoreChoice choice;
    choice.prepare(scores);
    for (int i = 0; i < 3000; ++i) {
      const Rounds::Scores s = rounds.next({.hint = 1, .rest = 0});
      const NodeScore::Reading readings[] = {s.noise};
      choice.observe(readings, s.own, 1, s.accepted);
      ASSERT_EQ(choice.chosen(), ScoreChoice::kOwn) << seed << " " << i;
    }
  }
}

TEST(ScoreChoice, AScoreThatNoLongerHelpsIsDropped) {
  Rounds rounds(3);
  GivenScore informed;
  NodeScore* const scores[] = {&informed};
  ScoreChoice choice;
  choice.prepare(scores);
  for (int i = 0; i < 1000; ++i) {
    const Rounds::Scores s = rounds.next({});
    choice.observe(std::span(&s.informed, 1), s.own, 1, s.accepted);
  }
  ASSERT_EQ(choice.chosen(), 0);
  for (int i = 0; i < 2000; ++i) {
    const Rounds::Scores s = rounds.next({.hint = 2, .rest = 0});
    choice.observe(std::span(&s.noise, 1), s.own, 1, s.accepted);
  }
  EXPECT_EQ(choice.chosen(), ScoreChoice::kOwn);
}

TEST(ScoreChoice, StrataAreCalibratedApart) {
  GivenScore bins(2);
  NodeScore* const scores[] = {&bins};
  ScoreChoice choice;
  choice.prepare(scores);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 2000; ++i) {
    const NodeScore::Reading reading{.log_prob = std::log(0.5), .stratum = i % 2};
    choice.observe(std::span(&reading, 1), 0.5, 1, uniform(random) < (i % 2 == 0 ? 0.1 : 0.8));
  }
  EXPECT_NEAR(choice.acceptance(0, {.log_prob = std::log(0.5), .stratum = 0}, 1), 0.1, 0.06);
  EXPECT_NEAR(choice.acceptance(0, {.log_prob = std::log(0.5), .stratum = 1}, 1), 0.8, 0.06);
  EXPECT_EQ(choice.chosen(), 0);
}

/// root -> 1 (right) -> 2 (right), 3; root -> 4; 4 -> 5
struct SmallTree {
  SmallTree() {
    tree.reset(0, 0);
    tree.add(0, 1, -0.1f, 1);
    tree.add(0, 4, -3.0f, 1);
    tree.add(1, 2, -0.5f, 1);
    tree.add(1, 3, -1.0f, 1);
    tree.add(2, 5, -1.0f, 1);
  }
  DraftTree tree;
};

TEST(ScoreBook, LearnsFromAllChildrenOfAcceptedNodesVerifiedOrNot) {
  SmallTree drafted;
  GivenScore score;
  score.by_token.assign(6, {.log_prob = -0.5, .stratum = 0});
  NodeScore* const scores[] = {&score};
  ScoreChoice choice;
  ScoreBook book(choice, scores);
  book.begin_round();
  for (std::int32_t v = 1; v < drafted.tree.size(); ++v) EXPECT_EQ(book.weigh(drafted.tree, v, 0.3), 0.3);
  // Of all of these the target verified token 1 alone; its next token is 2.
  DraftTree verified;
  verified.reset(0, 0);
  verified.add(0, 1, -0.1f, 1);
  const std::vector<std::int32_t> path{0, 1};
  StepTrace trace;
  trace.tree = &verified;
  trace.path = path;
  trace.next = 2;
  const double before = choice.acceptance(0, score.by_token[0], 1);
  Calibrator own;
  book.learn(trace, own);
  // 1 and 2 right, 4 and 3 wrong; what hangs on 4 was never asked.
  ScoreChoice by_hand;
  by_hand.prepare(scores);
  const NodeScore::Reading reading = score.by_token[0];
  for (const auto& [depth, accepted] : {std::pair{1, true}, {1, false}, {2, true}, {2, false}}) {
    by_hand.observe(std::span(&reading, 1), 0.3, depth, accepted);
  }
  EXPECT_NE(choice.acceptance(0, reading, 1), before);
  for (const int depth : {1, 2}) {
    EXPECT_DOUBLE_EQ(choice.acceptance(0, reading, depth), by_hand.acceptance(0, reading, depth));
  }
  EXPECT_DOUBLE_EQ(choice.advantage(0), by_hand.advantage(0));
  // The drafter's own probabilities of the same nodes, whoever else proposed them.
  Calibrator own_by_hand;
  own_by_hand.observe(static_cast<double>(-0.1f), 1, true);
  own_by_hand.observe(-3, 1, false);
  own_by_hand.observe(-0.5, 2, true);
  own_by_hand.observe(-1, 2, false);
  EXPECT_EQ(own.outcomes(), 4);
  EXPECT_DOUBLE_EQ(own.acceptance(-0.5, 2), own_by_hand.acceptance(-0.5, 2));
}

TEST(ScoreBook, WhereAScoreSaysNothingTheDraftersOwnCounts) {
  SmallTree drafted;
  GivenScore score;
  NodeScore* const scores[] = {&score};
  ScoreChoice choice;
  choice.prepare(scores);
  Rounds rounds(1);
  for (int i = 0; i < 1000; ++i) {
    const Rounds::Scores s = rounds.next({});
    choice.observe(std::span(&s.informed, 1), s.own, 1, s.accepted);
  }
  ASSERT_EQ(choice.chosen(), 0);
  ScoreBook book(choice, scores);
  book.begin_round();
  score.by_token.assign(6, {});
  EXPECT_EQ(book.weigh(drafted.tree, 1, 0.3), 0.3);
  score.by_token.assign(6, {.log_prob = -0.01, .stratum = 0});
  EXPECT_GT(book.weigh_again(drafted.tree, 1), 0.8) << "its expansion has told more of it";
}

TEST(ScoreBook, WithoutScoresNothingIsAskedFor) {
  ScoreChoice choice;
  const ScoreBook book(choice, {});
  EXPECT_TRUE(book.empty());
  EXPECT_FALSE(book.wants().anything());
}

TEST(Calibrator, FollowsATextOfAnotherKind) {
  // Matches of one token were right as often as they said, and are never right any more.
  Calibrator calibrator;
  std::mt19937_64 random(3);
  std::bernoulli_distribution right(0.25);
  for (int i = 0; i < 400; ++i) calibrator.observe(std::log(0.25), 1, right(random));
  EXPECT_NEAR(calibrator.acceptance(std::log(0.25), 1), 0.25, 0.08);
  for (int i = 0; i < 100; ++i) calibrator.observe(std::log(0.25), 1, false);
  EXPECT_LT(calibrator.acceptance(std::log(0.25), 1), 0.08);
}

}  // namespace
}  // namespace augur
