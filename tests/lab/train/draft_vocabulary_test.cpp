// Which tokens a head drafts, and heads that go on with others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/error_of.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

TEST(ExpectedCounts, AreTheDatasetsAndAPriorThatFallsWithTheId) {
  const TrainTarget train;
  std::vector<double> seen(192, 0.0);
  for (std::int64_t i = 0; i < train.data.size(); ++i) {
    const Example example = train.data[i];
    for (std::size_t t = 0; t < example.tokens.size(); ++t) {
      if (example.learn[t] != 0) ++seen[static_cast<std::size_t>(example.tokens[t])];
    }
  }
  const double tokens = std::accumulate(seen.begin(), seen.end(), 0.0);
  const std::vector<double> counts = expected_counts(train.data, 192);
  ASSERT_EQ(counts.size(), seen.size());
  double prior = 0;
  for (std::size_t id = 0; id < counts.size(); ++id) {
    const double more = counts[id] - seen[id];
    EXPECT_GT(more, 0) << id;
    if (id > 0) {
      EXPECT_LT(more, counts[id - 1] - seen[id - 1]) << id;
    }
    prior += more;
  }
  EXPECT_NEAR(prior, tokens / 4, 1e-6 * tokens);
}

TEST(FrequentTokens, AreThoseOfTheLargestCountsAndTheOnesThatMustBe) {
  const TrainTarget train;
  const std::vector<double> counts = expected_counts(train.data, 192);
  const TokenId rarest =
      static_cast<TokenId>(std::min_element(counts.begin(), counts.end()) - counts.begin());
  const std::vector<TokenId> plain = frequent_tokens(train.data, 192, 40, {});
  ASSERT_THAT(plain, testing::SizeIs(40));
  EXPECT_TRUE(std::is_sorted(plain.begin(), plain.end()));
  EXPECT_THAT(plain, testing::Not(testing::Contains(rarest)));
  double least = 1e9;
  for (const TokenId id : plain) least = std::min(least, counts[static_cast<std::size_t>(id)]);
  std::int64_t above = 0;
  for (const double count : counts) above += count >= least ? 1 : 0;
  EXPECT_EQ(above, 40);
  EXPECT_THAT(frequent_tokens(train.data, 192, 40, std::vector<TokenId>{rarest}), testing::Contains(rarest));
}

TEST(TakeRows, CopiesWhatBothHaveAndMovesTheRestAlike) {
  constexpr std::int64_t kWidth = 8;
  std::vector<TokenId> most, some;
  for (TokenId id = 0; id < 100; ++id) {
    if (id % 10 != 3) most.push_back(id);
    if (id % 2 == 0 && id < 90) some.push_back(id);
  }
  const DraftVocabulary mine(100, most), theirs(100, some);
  torch::Generator generator = keyed_generator(3);
  const torch::Tensor target = torch::randn({100, kWidth}, generator);
  const torch::Tensor map = torch::randn({kWidth, kWidth}, generator);
  const torch::Tensor moved = target.mm(map) + 0.5;  // what training did to the target's rows
  torch::Tensor rows = mine.rows(target).clone();
  mine.take_rows(rows, theirs, theirs.rows(moved).to(torch::kBFloat16));
  for (std::size_t i = 0; i < most.size(); ++i) {
    const torch::Tensor row = rows[static_cast<std::int64_t>(i)], expected = moved[most[i]];
    if (std::find(some.begin(), some.end(), most[i]) != some.end()) {
      EXPECT_TRUE(row.equal(expected.to(torch::kBFloat16).to(torch::kFloat32))) << most[i];
    } else {
      EXPECT_LT((row - expected).abs().max().item<double>(), 0.05) << most[i];
    }
  }
}

/// An EAGLE-3 head over these tokens.
std::unique_ptr<Learner> head_over(const TrainTarget& train, const DraftVocabulary& vocabulary) {
  Eagle3Learner::Options options{.unroll = {.steps = 2, .decay = 0.8, .evaluated = 2}};
  options.taps = default_taps(train.model.config());
  options.tap_scales = tap_scales(train.model, train.data, options.taps);
  return std::make_unique<Eagle3Learner>(train.model, vocabulary, options);
}

TEST(AnotherDraftVocabulary, KeepsTheLogitsOfTokensThatBothHeadsDraft) {
  const TrainTarget train;
  const TemporaryFolder folder;
  const DraftVocabulary few(192, frequent_tokens(train.data, 192, 96, {}));
  const DraftVocabulary many(192, frequent_tokens(train.data, 192, 128, {}));
  const auto first = head_over(train, few);
  {
    const torch::NoGradGuard no_grad;
    for (auto& [name, tensor] : first->parameters()) {
      tensor.mul_(1.25);
      tensor.copy_(tensor.to(torch::kBFloat16));  // as it will be stored
    }
  }
  first->save(folder.path());
  const auto second = head_over(train, many);
  second->load(folder.path());
  const std::vector<TokenId> tokens = toy_tokens(99, 30);
  const std::vector<std::uint8_t> learn(tokens.size(), 1);
  const torch::Tensor before = first->draft_logits({tokens, learn}, 17);
  const torch::Tensor after = second->draft_logits({tokens, learn}, 17);
  ASSERT_EQ(after.size(1), 128);
  const torch::Tensor all = torch::arange(192);
  const torch::Tensor both = all.masked_select(few.covers(all) & many.covers(all));
  ASSERT_EQ(both.size(0), 96);
  EXPECT_TRUE(torch::allclose(after.index_select(1, many.entries(both)),
                              before.index_select(1, few.entries(both)), 1e-4, 1e-4));
}

TEST(AnotherDraftVocabulary, IsRefusedWhereMoreThanATablesRowsDependsOnIt) {
  const TrainTarget train;
  const TemporaryFolder folder;
  const auto make = [&](std::int32_t size) {
    DflashLearner::Options options{.layers = 1, .block = 5, .anchors = 6, .dspark = false, .markov_rank = 16};
    options.taps = default_taps(train.model.config());
    options.tap_scales = tap_scales(train.model, train.data, options.taps);
    const DraftVocabulary vocabulary(192, frequent_tokens(train.data, 192, size, {}));
    return std::make_unique<DflashLearner>(train.model, vocabulary, options);
  };
  make(96)->save(folder.path());
  EXPECT_THAT(error_of([&] { make(128)->load(folder.path()); }), testing::HasSubstr("d2t"));
  EXPECT_NO_THROW(make(96)->load(folder.path()));
}

}  // namespace
}  // namespace augur
