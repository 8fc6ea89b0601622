// Clustering and routers on problems whose answers are known.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "lab/vocabulary/frequency_bands.h"
#include "lab/vocabulary/router_trainer.h"
#include "lab/vocabulary/spherical_kmeans.h"

namespace augur {
namespace {

constexpr std::int64_t kWidth = 24;
constexpr std::int64_t kTokens = 300;
constexpr std::int64_t kGroups = 6;

/// Tokens about six directions that are far from one another, of any length.
struct PlantedHead {
  PlantedHead() : head(DType::F32, kTokens, kWidth) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      std::vector<float> row(kWidth);
      const float length = std::exp(normal(random));
      for (std::int64_t i = 0; i < kWidth; ++i) {
        const bool axis = i / (kWidth / kGroups) == t % kGroups;
        row[static_cast<std::size_t>(i)] = length * ((axis ? 1.0f : 0.0f) + 0.05f * normal(random));
      }
      head.set_rows(t, row);
    }
  }
  PackedMatrix head;
};

std::vector<std::int32_t> all_entries() {
  std::vector<std::int32_t> entries(kTokens);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::int32_t>(i);
  return entries;
}

TEST(SphericalKMeans, EveryClusterIsPartOfOneDirection) {
  Backend backend(2);
  const PlantedHead planted;
  // More clusters than directions, so that no random beginning can leave two directions to one mean.
  const auto found =
      spherical_kmeans(backend, planted.head, all_entries(), {.clusters = 40, .iterations = 30});
  ASSERT_EQ(found.size(), static_cast<std::size_t>(kTokens));
  std::map<std::int32_t, std::set<std::int64_t>> directions;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    directions[found[static_cast<std::size_t>(t)]].insert(t % kGroups);
  }
  EXPECT_EQ(directions.size(), 40u) << "a cluster is empty";
  for (const auto& [cluster, groups] : directions) EXPECT_EQ(groups.size(), 1u) << "cluster " << cluster;
  EXPECT_EQ(found,
            spherical_kmeans(backend, planted.head, all_entries(), {.clusters = 40, .iterations = 30}));
}

// 100 tokens, the core the 4 most frequent ones: bands of 12 (places 4 to 15), 48 (to 63) and 36, whose roots
// are 3.46, 6.93 and 6: of 16 clusters they get 3.38, 6.76 and 5.86, that is 3, 7 and 6.
TEST(FrequencyBands, AreOfTokensAboutAsFrequent) {
  PackedMatrix matrix(DType::F32, 100, kWidth);
  const HeadWeights weights{.matrix = &matrix, .usable = 100};
  std::vector<std::int64_t> rank(100);
  for (std::size_t t = 0; t < rank.size(); ++t) rank[t] = 99 - static_cast<std::int64_t>(t);
  const std::vector<Band> bands = frequency_bands(weights, rank, 4, 16, true);
  ASSERT_EQ(bands.size(), 3u);
  EXPECT_EQ(bands[0].entries.size(), 12u);
  EXPECT_EQ(bands[0].entries.back(), 95) << "place 4";
  EXPECT_EQ(bands[1].entries.size(), 48u);
  EXPECT_EQ(bands[2].entries.size(), 36u);
  EXPECT_EQ(bands[0].clusters, 3);
  EXPECT_EQ(bands[1].clusters, 7);
  EXPECT_EQ(bands[2].clusters, 6);
  // The paper's form: one k-means over all that is left.
  const std::vector<Band> one = frequency_bands(weights, rank, 4, 16, false);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].entries.size(), 96u);
  EXPECT_EQ(one[0].clusters, 16);
  EXPECT_EQ(frequency_bands(weights, rank, 0, 16, true).at(0).entries.size(), 100u) << "no core, no bands";
}

TEST(SphericalKMeans, GivesEveryClusterARowWhateverTheRowsAre) {
  Backend backend(2);
  PackedMatrix same(DType::BF16, 50, kWidth);  // zeros: no direction at all
  const auto found = spherical_kmeans(backend, same, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                                      {.clusters = 10, .iterations = 3});
  EXPECT_EQ(std::set<std::int32_t>(found.begin(), found.end()).size(), 10u);
  EXPECT_THROW(spherical_kmeans(backend, same, std::vector<std::int32_t>{1, 2}, {.clusters = 3}), Error);
}

/// Contexts whose state says which group the next token is of.
RouterExamples planted_examples(std::int64_t count) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  RouterExamples examples{.inputs = Matrix(count, kWidth), .steps = {}, .top = 2, .tokens = {}, .probs = {}};
  for (std::int64_t r = 0; r < count; ++r) {
    const auto group = static_cast<std::int64_t>(random() % kGroups);
    for (std::int64_t i = 0; i < kWidth; ++i) {
      // Two features together say it, and neither alone does: a linear router would not do.
      const bool on = (i / 4 == group) != (i % 4 == 0);
      examples.inputs.row(r)[i] = (on ? 1.0f : -1.0f) + 0.1f * normal(random);
    }
    examples.steps.push_back(static_cast<int>(r % 4));
    examples.tokens.insert(examples.tokens.end(),
                           {static_cast<TokenId>(group), static_cast<TokenId>(group + kGroups)});
    examples.probs.insert(examples.probs.end(), {0.7f, 0.2f});
  }
  return examples;
}

class RouterLearning : public testing::TestWithParam<RouterLoss> {};

TEST_P(RouterLearning, FindsTheClusterOfTheContext) {
  Backend backend(2);
  const RouterExamples examples = planted_examples(3000);
  ClusterPart part{.file = "part", .vocab = kTokens, .hidden = kWidth, .clusters = kGroups + 1};
  part.input = RouterInput::State;
  for (std::int64_t t = 0; t < kTokens; ++t)
    part.cluster_of.push_back(static_cast<std::int32_t>(t % kGroups));
  part.cluster_of.back() = kGroups;
  const std::int32_t always[] = {kGroups};
  std::vector<double> losses;
  train_router(backend, examples, {0, 2500}, always,
               {.hidden = 32, .loss = GetParam(), .epochs = 20, .batch = 100, .rate = 5e-3f}, part,
               [&](double, double loss) {
                 losses.push_back(loss);
                 return true;
               });
  EXPECT_EQ(losses.size(), 500u);
  EXPECT_LT(losses.back(), losses.front() / 2);
  // The one that is always there, and the one that the context asks for.
  const RouterQuality two = router_quality(backend, examples, {2500, 3000}, part, {2, 2, false});
  EXPECT_GT(two.best, 0.97);
  EXPECT_GT(two.mass, 0.97 * 0.9);
  EXPECT_NEAR(two.oracle_mass, 0.9, 1e-5);
  EXPECT_NEAR(two.tokens, 1 + kTokens / kGroups, 1.0);
  const RouterQuality one = router_quality(backend, examples, {2500, 3000}, part, {1, 1, false});
  EXPECT_EQ(one.best, 0.0);
  EXPECT_EQ(one.tokens, 1.0);
}

INSTANTIATE_TEST_SUITE_P(Losses, RouterLearning, testing::Values(RouterLoss::Mass, RouterLoss::Top),
                         [](const auto& tested) {
                           return tested.param == RouterLoss::Mass ? "Mass" : "Top";
                         });

TEST(MatrixProduct, IsTheProduct) {
  Backend backend(2);
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  Matrix a(37, 50);
  Matrix b(21, 50);
  for (float& v : a.values) v = normal(random);
  for (float& v : b.values) v = normal(random);
  const Matrix y = product_with_transposed(backend, a, b);
  ASSERT_EQ(y.rows, 37);
  ASSERT_EQ(y.columns, 21);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    for (std::int64_t c = 0; c < y.columns; ++c) {
      double expected = 0;
      for (std::int64_t i = 0; i < 50; ++i) expected += static_cast<double>(a.row(r)[i]) * b.row(c)[i];
      EXPECT_NEAR(y.row(r)[c], expected, 1e-4);
    }
  }
}

}  // namespace
}  // namespace augur
