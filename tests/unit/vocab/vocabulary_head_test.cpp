// Shortlists against the whole head: the same bits for the tokens that they have, and the right tokens.
#include "vocab/vocabulary_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "head_fixture.h"

namespace augur {
namespace {

using testing_support::HeadProblem;
using testing_support::some_clusters;
using testing_support::some_frequencies;
using testing_support::some_target;
using testing_support::TemporaryFolder;

/// Tokens of a row of the last run.
std::vector<TokenId> tokens_of(const VocabularyHead& head, std::size_t row) {
  const std::size_t count = head.logits(row).size();
  const std::span<const TokenId> ids = head.target_ids();
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(ids.empty() ? static_cast<TokenId>(i) : ids[i]);
  return tokens;
}

/// Runs both heads; every logit of the shortlist is the whole head's for that token.
void expect_same_bits(VocabularyHead& whole, VocabularyHead& part, std::span<const HeadRow> rows) {
  whole.run(rows);
  part.run(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::map<TokenId, float> expected;
    const std::vector<TokenId> all = tokens_of(whole, r);
    for (std::size_t i = 0; i < all.size(); ++i) expected[all[i]] = whole.logits(r)[i];
    const std::vector<TokenId> tokens = tokens_of(part, r);
    ASSERT_FALSE(tokens.empty());
    ASSERT_EQ(std::set<TokenId>(tokens.begin(), tokens.end()).size(), tokens.size()) << "a token comes twice";
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      ASSERT_TRUE(expected.contains(tokens[i])) << tokens[i];
      ASSERT_EQ(part.logits(r)[i], expected[tokens[i]]) << "row " << r << ", token " << tokens[i];
    }
  }
}

class VocabularyHeadTest : public testing::TestWithParam<DType> {
 protected:
  VocabularyChoice frequent(const std::string& text, std::int32_t vocab,
                            const std::vector<TokenId>& always = {}) {
    write_token_order(folder_.path(), some_frequencies(vocab), {});
    const std::size_t colon = text.find(':');
    return {VocabularySpec::parse(text.substr(0, colon) + ":" + folder_.path().string() + text.substr(colon)),
            some_target(vocab), always};
  }
  VocabularyChoice clusters(const ClusterPart& part, const std::string& budget = "") {
    part.write(folder_.path(), {});
    return {VocabularySpec::parse("dynaspec:" + folder_.path().string() + budget),
            some_target(static_cast<std::int32_t>(part.vocab)),
            {}};
  }

  TemporaryFolder folder_;
};

TEST_P(VocabularyHeadTest, FrequentTokensKeepTheirBits) {
  for (const bool bias : {false, true}) {
    HeadProblem problem(GetParam(), 500, bias);
    const VocabularyChoice choice = frequent("frspec:70", 500, {7});
    VocabularyHead whole(problem.weights());
    VocabularyHead part(problem.weights(), &choice);
    expect_same_bits(whole, part, problem.rows({0, 1, 5}));
    const std::vector<TokenId> tokens = tokens_of(part, 2);
    ASSERT_EQ(tokens.size(), 70u);
    std::vector<TokenId> expected = by_frequency(some_frequencies(500));
    const bool there = std::find(expected.begin(), expected.begin() + 70, 7) != expected.begin() + 70;
    expected.resize(70);
    if (!there) expected.back() = 7;
    EXPECT_EQ(tokens, expected);
  }
}

TEST_P(VocabularyHeadTest, PositionAwareListsAreFallingPrefixes) {
  HeadProblem problem(GetParam(), 500);
  const VocabularyChoice choice = frequent("pafr:120", 500);
  VocabularyHead whole(problem.weights());
  VocabularyHead part(problem.weights(), &choice);
  expect_same_bits(whole, part, problem.rows({4, 0, 2, 1, 3}));
  const std::vector<std::size_t> sizes{24, 120, 40, 120, 30};
  for (std::size_t r = 0; r < sizes.size(); ++r) EXPECT_EQ(part.logits(r).size(), sizes[r]);
  // Later steps alone compute less.
  expect_same_bits(whole, part, problem.rows({4, 4}));
  EXPECT_EQ(part.logits(0).size(), 24u);
}

TEST_P(VocabularyHeadTest, ReducedVocabulariesKeepTheirTokens) {
  HeadProblem problem(GetParam(), 200);
  for (std::int64_t i = 0; i < 200; ++i) problem.target_ids.push_back(static_cast<TokenId>(2 * i + 1));
  VocabularyHead whole(problem.weights());
  const VocabularyChoice few = frequent("frspec:50", 500);
  VocabularyHead part(problem.weights(), &few);
  expect_same_bits(whole, part, problem.rows({0, 1}));
  EXPECT_EQ(part.logits(0).size(), 50u);
  for (const TokenId token : tokens_of(part, 0)) EXPECT_TRUE(token % 2 == 1 && token < 400);
  for (const RouterInput input : {RouterInput::Previous, RouterInput::State}) {
    const VocabularyChoice choice = clusters(some_clusters(500, 12, input));
    VocabularyHead routed(problem.weights(), &choice);
    expect_same_bits(whole, routed, problem.rows({0, 1, 2}));
  }
}

TEST_P(VocabularyHeadTest, EntriesThatTheTargetLacksAreNeverOnAList) {
  HeadProblem problem(GetParam(), 500);
  problem.usable = 310;
  VocabularyHead whole(problem.weights());
  const VocabularyChoice few = frequent("frspec:200", 500);
  const VocabularyChoice routed = clusters(some_clusters(500, 5, RouterInput::State), ":5");
  for (const VocabularyChoice* choice : {&few, &routed}) {
    VocabularyHead part(problem.weights(), choice);
    expect_same_bits(whole, part, problem.rows({0}));
    for (const TokenId token : tokens_of(part, 0)) EXPECT_LT(token, 310);
  }
}

/// The clusters of the best scores, computed plainly in double from the router's own weights.
std::set<std::int32_t> best_clusters(const ClusterPart& part, HeadProblem& problem, const HeadRow& row,
                                     std::int64_t count) {
  const std::int64_t width = HeadProblem::kWidth;
  std::vector<float> input(static_cast<std::size_t>(part.inputs()));
  if (part.input == RouterInput::Previous) {
    problem.embedding.get_row(row.token, input.data());
    std::copy_n(row.previous, width, input.data() + width);
  } else {
    rms_norm(row.state, problem.norm.data(), 1e-5f, width, InputForm::F32, input.data());
  }
  std::vector<double> hidden(static_cast<std::size_t>(part.router_hidden));
  for (std::size_t h = 0; h < hidden.size(); ++h) {
    hidden[h] = part.fc1_bias[h];
    for (std::size_t i = 0; i < input.size(); ++i) {
      hidden[h] += static_cast<double>(part.fc1_weight[h * input.size() + i]) * input[i];
    }
    hidden[h] = std::max(hidden[h], 0.0);
  }
  std::vector<std::pair<double, std::int32_t>> scores;
  for (std::size_t c = 0; c < static_cast<std::size_t>(part.clusters); ++c) {
    double score = part.fc2_bias[c];
    for (std::size_t h = 0; h < hidden.size(); ++h)
      score += part.fc2_weight[c * hidden.size() + h] * hidden[h];
    scores.emplace_back(-score, static_cast<std::int32_t>(c));
  }
  std::sort(scores.begin(), scores.end());
  std::set<std::int32_t> best;
  for (std::int64_t i = 0; i < count; ++i) best.insert(scores[static_cast<std::size_t>(i)].second);
  return best;
}

TEST_P(VocabularyHeadTest, RoutedClustersAreTheRoutersChoice) {
  for (const RouterInput input : {RouterInput::Previous, RouterInput::State}) {
    HeadProblem problem(GetParam(), 500);
    const ClusterPart part = some_clusters(500, 20, input);
    const VocabularyChoice choice = clusters(part);
    VocabularyHead whole(problem.weights());
    VocabularyHead routed(problem.weights(), &choice);
    for (const std::vector<int>& steps : {std::vector<int>{0}, {1}, {2}, {0, 1, 2, 3}}) {
      const std::vector<HeadRow> rows = problem.rows(steps);
      expect_same_bits(whole, routed, rows);
      std::set<std::int32_t> chosen;
      for (const HeadRow& row : rows) {
        const auto mine = best_clusters(part, problem, row, part.budget.at(row.step));
        chosen.insert(mine.begin(), mine.end());
      }
      const std::vector<TokenId> tokens = tokens_of(routed, 0);
      const std::set<TokenId> listed(tokens.begin(), tokens.end());
      std::size_t wanted = 0;
      for (std::size_t t = 0; t < part.cluster_of.size(); ++t) {
        if (!chosen.contains(part.cluster_of[t])) continue;
        ++wanted;
        // Rounding to bfloat16 may change which of two nearly equal scores is better.
        if (GetParam() == DType::F32) {
          EXPECT_TRUE(listed.contains(static_cast<TokenId>(t))) << t;
        }
      }
      // No more than the neighbours in shared panels come along.
      if (GetParam() == DType::F32) {
        EXPECT_LE(listed.size(), wanted + chosen.size() * 2 * 15);
      }
      EXPECT_LT(listed.size(), 500u);
    }
  }
}

TEST_P(VocabularyHeadTest, RowsOfASequenceShareOneBudget) {
  HeadProblem problem(GetParam(), 500);
  const ClusterPart part = some_clusters(500, 20, RouterInput::State);
  const VocabularyChoice choice = clusters(part, ":4");
  VocabularyHead routed(problem.weights(), &choice);
  std::vector<HeadRow> rows = problem.rows({1, 1, 1, 1, 1, 1});
  routed.run(rows);
  const std::int64_t apart = routed.columns();
  for (HeadRow& row : rows) row.sequence = 7;
  routed.run(rows);
  EXPECT_LT(routed.columns(), apart);
  // A row that the text never gets to has no say.
  for (std::size_t sure = 0; sure < rows.size(); ++sure) {
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].weight = r == sure ? 1.0f : 0.0f;
    routed.run(rows);
    const std::vector<TokenId> together = tokens_of(routed, 0);
    routed.run(std::span(rows).subspan(sure, 1));
    EXPECT_EQ(together, tokens_of(routed, 0)) << sure;
  }
}

// DynaSpec's form: every row chooses for itself, and the level gets the union.
TEST_P(VocabularyHeadTest, ABudgetMayBeEveryRows) {
  HeadProblem problem(GetParam(), 500);
  ClusterPart part = some_clusters(500, 20, RouterInput::State);
  const VocabularyChoice shared = clusters(part, ":4");
  part.budget.by_row = true;
  const VocabularyChoice own = clusters(part, ":4");
  VocabularyHead together(problem.weights(), &shared), apart(problem.weights(), &own);
  std::vector<HeadRow> rows = problem.rows({1, 1, 1});
  std::set<TokenId> each;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r].sequence = 7;
    together.run(std::span(rows).subspan(r, 1));
    for (const TokenId token : tokens_of(together, 0)) each.insert(token);
  }
  together.run(rows);
  apart.run(rows);
  const std::vector<TokenId> found = tokens_of(apart, 0);
  EXPECT_EQ(std::set<TokenId>(found.begin(), found.end()), each) << "the union of what rows choose alone";
  EXPECT_LT(together.columns(), apart.columns());
}

TEST_P(VocabularyHeadTest, ClustersThatAreAlwaysThereLeaveTheOthersTheirOrder) {
  HeadProblem problem(GetParam(), 500);
  ClusterPart part = some_clusters(500, 20, RouterInput::State);
  const VocabularyChoice without = clusters(part, ":3");
  VocabularyHead plain(problem.weights(), &without);
  part.fc2_bias[5] = kAlwaysScore;
  const VocabularyChoice with = clusters(part, ":4");
  VocabularyHead routed(problem.weights(), &with);
  std::vector<HeadRow> rows = problem.rows({0, 0, 0});
  for (HeadRow& row : rows) row.sequence = 0;
  plain.run(rows);
  routed.run(rows);
  const std::vector<TokenId> tokens = tokens_of(routed, 0);
  const std::set<TokenId> listed(tokens.begin(), tokens.end());
  for (const TokenId token : tokens_of(plain, 0)) EXPECT_TRUE(listed.contains(token)) << token;
  for (std::size_t t = 0; t < part.cluster_of.size(); ++t) {
    if (part.cluster_of[t] == 5) {
      EXPECT_TRUE(listed.contains(static_cast<TokenId>(t))) << t;
    }
  }
}

TEST_P(VocabularyHeadTest, TheBestAreThoseOfTheLogits) {
  HeadProblem problem(GetParam(), 500, true);
  const VocabularyChoice few = frequent("pafr:120", 500);
  TemporaryFolder folder;
  some_clusters(500, 12, RouterInput::State).write(folder.path(), {});
  const VocabularyChoice routed(VocabularySpec::parse("dynaspec:" + folder.path().string()), some_target(500),
                                {});
  for (const VocabularyChoice* choice : {static_cast<const VocabularyChoice*>(nullptr), &few, &routed}) {
    VocabularyHead head(problem.weights(), choice);
    const std::vector<HeadRow> rows = problem.rows({0, 1, 4});
    head.run(rows);
    std::vector<std::vector<std::int32_t>> entries;
    std::vector<std::vector<float>> values;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      entries.emplace_back(6);
      values.emplace_back(6);
      top_k(head.logits(r), 6, entries[r].data(), values[r].data());
    }
    head.run(rows, 6);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      EXPECT_EQ(head.best(r).entries, entries[r]);
      EXPECT_EQ(head.best(r).values, values[r]);
    }
  }
}

TEST(ClusterBudget, IsTheOneThatThePlanNames) {
  const testing_support::TemporaryFolder folder;
  some_clusters(500, 20, RouterInput::State).write(folder.path(), {});
  const auto budget = [&](const std::string& numbers) {
    const VocabularyChoice choice(VocabularySpec::parse("dynaspec:" + folder.path().string() + numbers),
                                  some_target(500), {});
    return choice.clusters()->budget;
  };
  EXPECT_EQ(budget(":11,11").at(3), (11 + 3) / 6);
  EXPECT_EQ(budget(":11,11:floor").at(3), 11 / 6);
}

TEST(ClusterBudget, FallsAsThePaperHasIt) {
  const ClusterBudget budget{.first = 40, .second = 22, .position_aware = true};
  EXPECT_EQ(budget.at(0), 40);
  EXPECT_EQ(budget.at(1), 22);
  EXPECT_EQ(budget.at(2), (22 + 2) / 4);
  EXPECT_EQ(budget.at(3), (22 + 3) / 6);
  EXPECT_EQ((ClusterBudget{3, 1, true}.at(9)), 1);
  EXPECT_EQ((ClusterBudget{9, 9, false}.at(7)), 9);
  // Algorithm 1: k1 // 2t.
  const ClusterBudget floored{.first = 40, .second = 22, .position_aware = true, .floored = true};
  EXPECT_EQ(floored.at(0), 40);
  EXPECT_EQ(floored.at(1), 22);
  EXPECT_EQ(floored.at(2), 22 / 4);
  EXPECT_EQ(floored.at(3), 22 / 6);
  EXPECT_EQ(floored.at(30), 1) << "where the paper's would be none";
}

TEST_P(VocabularyHeadTest, LogitsAreScaledAndCappedAsTheTargets) {
  HeadProblem problem(GetParam(), 3000, true);
  const VocabularyChoice choice = frequent("frspec:1000", 3000);
  HeadWeights formed = problem.weights();
  formed.form = {.scale = 0.25f, .cap = 2.0f};
  VocabularyHead plain(problem.weights());
  VocabularyHead whole(formed);
  VocabularyHead part(formed, &choice);
  const std::vector<HeadRow> rows = problem.rows({0, 1, 2});
  plain.run(rows);
  expect_same_bits(whole, part, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    ASSERT_EQ(whole.logits(r).size(), plain.logits(r).size());
    for (std::size_t i = 0; i < whole.logits(r).size(); ++i) {
      ASSERT_NEAR(whole.logits(r)[i], 2 * std::tanh(plain.logits(r)[i] * 0.25 / 2), 1e-5);
    }
  }
  // The best alone, whose probabilities are told by the sum over all.
  std::vector<std::vector<float>> logits;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    logits.emplace_back(whole.logits(r).begin(), whole.logits(r).end());
  }
  whole.run(rows, 8);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const RowTop& best = whole.best(r);
    EXPECT_NEAR(best.log_sum_exp, log_sum_exp(logits[r].data(), std::ssize(logits[r])), 1e-5);
    std::partial_sort(logits[r].begin(), logits[r].begin() + 8, logits[r].end(), std::greater<>());
    EXPECT_EQ(best.values, std::vector<float>(logits[r].begin(), logits[r].begin() + 8));
  }
}

TEST_P(VocabularyHeadTest, HotListsFollowTheText) {
  HeadProblem problem(GetParam(), 500, true);
  const VocabularyChoice choice = frequent("hot:64", 500);
  VocabularyHead whole(problem.weights());
  VocabularyHead hot(problem.weights(), &choice);
  expect_same_bits(whole, hot, problem.rows({0}));
  const std::vector<TokenId> before = tokens_of(hot, 0);
  std::vector<TokenId> rare = by_frequency(some_frequencies(500));
  rare.erase(rare.begin(), rare.begin() + 480);
  hot.saw(rare);
  hot.saw(rare);
  expect_same_bits(whole, hot, problem.rows({0, 3}));
  std::vector<TokenId> after = tokens_of(hot, 0);
  for (const TokenId token : rare) EXPECT_TRUE(std::find(after.begin(), after.end(), token) != after.end());
  // The corpus's most frequent half stays, however much the text has of other tokens.
  for (int round = 0; round < 20; ++round) {
    for (TokenId token = 0; token < 500; ++token) hot.saw(std::vector<TokenId>{token});
  }
  expect_same_bits(whole, hot, problem.rows({0}));
  after = tokens_of(hot, 0);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 32, after.begin()));
  // What it has forgotten, it does not remember: the same texts move it in the same way.
  hot.forget();
  expect_same_bits(whole, hot, problem.rows({0}));
  EXPECT_EQ(tokens_of(hot, 0), before);
  VocabularyHead fresh(problem.weights(), &choice);
  for (VocabularyHead* head : {&hot, &fresh}) {
    head->saw(rare);
    expect_same_bits(whole, *head, problem.rows({0}));
  }
  EXPECT_EQ(tokens_of(hot, 0), tokens_of(fresh, 0));
}

INSTANTIATE_TEST_SUITE_P(Types, VocabularyHeadTest, testing::Values(DType::F32, DType::BF16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace augur
