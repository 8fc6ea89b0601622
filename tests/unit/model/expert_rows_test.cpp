#include "model/expert_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace augur {
namespace {

ExpertRows routed(const ExpertSpec& spec, std::vector<std::vector<float>> scores,
                  const std::vector<float>& bias = {}) {
  ExpertRows rows;
  rows.reset(spec, static_cast<int>(scores.size()));
  for (std::size_t r = 0; r < scores.size(); ++r) {
    rows.route(static_cast<int>(r), scores[r].data(), bias.empty() ? nullptr : bias.data());
  }
  rows.group();
  return rows;
}

std::vector<int> experts_of(const ExpertRows& rows, const ExpertSpec& spec, int row) {
  std::vector<int> experts;
  for (int i = 0; i < spec.active; ++i) {
    for (const ExpertRows::Group& group : rows.groups()) {
      const int place = rows.place(row, i);
      if (place >= group.first && place < group.first + group.rows) experts.push_back(group.expert);
    }
  }
  return experts;
}

TEST(ExpertRows, BestFirstAndEqualOnesByIndex) {
  const ExpertSpec spec{.count = 5, .active = 3, .width = 1};
  const ExpertRows rows = routed(spec, {{0, 2, 1, 2, -1}, {1, 1, 1, 1, 1}, {-1, -2, -3, -4, 5}});
  EXPECT_EQ(experts_of(rows, spec, 0), (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(experts_of(rows, spec, 1), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(experts_of(rows, spec, 2), (std::vector<int>{4, 0, 1}));
}

TEST(ExpertRows, SharesAreASoftmax) {
  ExpertSpec spec{.count = 3, .active = 2, .width = 1};
  const std::vector<float> scores = {0, 1, 2};
  const double all = 1 + std::exp(1.0) + std::exp(2.0);
  ExpertRows rows = routed(spec, {scores});
  EXPECT_NEAR(rows.share(0, 0), std::exp(2.0) / (all - 1), 1e-6);
  EXPECT_NEAR(rows.share(0, 0) + rows.share(0, 1), 1, 1e-6);
  spec.normalise = false;
  rows = routed(spec, {scores});
  EXPECT_NEAR(rows.share(0, 0), std::exp(2.0) / all, 1e-6);
  EXPECT_NEAR(rows.share(0, 1), std::exp(1.0) / all, 1e-6);
}

TEST(ExpertRows, SigmoidsAreSharesAndBiasesChoose) {
  ExpertSpec spec{.count = 4, .active = 2, .width = 1, .sigmoid = true, .normalise = false};
  const std::vector<float> scores = {0, -1, 2, 1};
  const auto share = [](double score) { return 1 / (1 + std::exp(-score)); };
  ExpertRows rows = routed(spec, {scores});
  EXPECT_EQ(experts_of(rows, spec, 0), (std::vector<int>{2, 3}));
  EXPECT_NEAR(rows.share(0, 0), share(2), 1e-6);
  EXPECT_NEAR(rows.share(0, 1), share(1), 1e-6);

  spec.chosen_by_bias = true;
  spec.scale = 2.5f;
  rows = routed(spec, {scores}, {0, 0.8f, 0, -1});
  EXPECT_EQ(experts_of(rows, spec, 0), (std::vector<int>{1, 2})) << "1.07 and 0.88";
  EXPECT_NEAR(rows.share(0, 0), 2.5 * share(-1), 1e-6) << "without the bias";
  spec.normalise = true;
  rows = routed(spec, {scores}, {0, 0.8f, 0, -1});
  EXPECT_NEAR(rows.share(0, 0), 2.5 * share(-1) / (share(-1) + share(2)), 1e-5);
  EXPECT_NEAR(rows.share(0, 0) + rows.share(0, 1), 2.5, 1e-5);
}

TEST(ExpertRows, PlacesOfAnExpertLieTogether) {
  const ExpertSpec spec{.count = 4, .active = 2, .width = 1};
  const ExpertRows rows = routed(spec, {{9, 8, 0, 0}, {0, 8, 0, 9}, {9, 0, 0, 8}});
  ASSERT_EQ(rows.groups().size(), 3u);
  EXPECT_EQ(rows.places(), 6);
  int next = 0;
  for (const ExpertRows::Group& group : rows.groups()) {
    EXPECT_EQ(group.first, next);
    EXPECT_EQ(group.rows, 2);
    next += group.rows;
  }
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(rows.row_at(rows.place(row, i)), row);
  }
}

}  // namespace
}  // namespace augur
