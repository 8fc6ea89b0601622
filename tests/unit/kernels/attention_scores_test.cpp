#include <algorithm>
#include <numeric>

#include "attention_fixture.h"

// Windows, soft caps and sinks: what layers of some families do with their scores.

namespace augur {
namespace {

using Param = AttentionVariant;

class AttentionScoresTest : public testing::TestWithParam<Param> {
 protected:
  Isa isa() const { return std::get<0>(GetParam()); }
  DType type() const { return std::get<1>(GetParam()); }
};

const std::vector<TestScores>& kinds() {
  static const std::vector<TestScores> all = {
      {.window = 1},
      {.window = 20},
      {.window = 70},
      {.cap = 2.0f},
      {.sinks = {0.5f, -3.0f, 4.0f, 1.0f, 30.0f, -60.0f}},
      {.window = 33, .cap = 5.0f, .sinks = {0.5f, -3.0f, 2.0f, 1.0f, 4.0f, 0.0f}},
  };
  return all;
}

/// In float64, over the values as they are stored.
std::vector<double> reference(const TestTokens& tokens, int token, int head, const std::vector<int>& path,
                              DType type, const TestScores& scores) {
  const auto stored = [&](float v) {
    return static_cast<double>(type == DType::F32 ? v : to_float(to_bf16(v)));
  };
  const int d = tokens.head_dim;
  const int kv_head = head / (tokens.heads / tokens.kv_heads);
  const auto length = static_cast<std::int64_t>(path.size());
  const std::int64_t first = scores.window > 0 ? std::max<std::int64_t>(0, length - scores.window) : 0;
  std::vector<double> result(static_cast<std::size_t>(d));
  double total = scores.sinks.empty() ? 0.0 : std::exp(scores.sinks[static_cast<std::size_t>(head)]);
  for (std::int64_t j = first; j < length; ++j) {
    const int seen = path[static_cast<std::size_t>(j)];
    double score = 0;
    for (int i = 0; i < d; ++i) {
      score += stored(tokens.query(token)[head * d + i]) * stored(tokens.key(seen, kv_head)[i]);
    }
    score /= std::sqrt(static_cast<double>(d));
    const double cap = static_cast<double>(scores.cap);
    if (cap > 0) score = cap * std::tanh(score / cap);
    total += std::exp(score);
    for (int i = 0; i < d; ++i) {
      result[static_cast<std::size_t>(i)] += std::exp(score) * stored(tokens.value(seen, kv_head)[i]);
    }
  }
  for (double& v : result) v /= total;
  return result;
}

std::vector<int> path_of(const Tree& tree, int node, int prefix) {
  std::vector<int> path(static_cast<std::size_t>(prefix));
  std::iota(path.begin(), path.end(), 0);
  for (const int step : tree.path(node)) path.push_back(prefix + step);
  return path;
}

TEST_P(AttentionScoresTest, AgreeWithFloat64) {
  std::mt19937 random(31);
  const double tolerance = type() == DType::F32 ? 3e-5 : 3e-2;
  for (const TestScores& scores : kinds()) {
    for (const int prefix : {0, 15, 66, 150}) {
      const int nodes = 30;
      const TestTokens tokens(prefix + nodes, 6, 2, 24, 3);
      const Tree tree(nodes, random);
      TestCache cache(type(), 2, 24, 192);
      for (int t = 0; t < prefix + nodes; ++t) tokens.store(cache.view, t, t);
      TestRows rows;
      for (int i = 0; i < nodes; ++i) add_tree_row(rows, tree, i, prefix);
      const std::vector<float> out = attend(isa(), tokens, cache.view, rows, InputForm::F32, 1, scores);
      for (int i = 0; i < nodes; ++i) {
        const std::vector<int> path = path_of(tree, i, prefix);
        for (int h = 0; h < 6; ++h) {
          const auto expected = reference(tokens, prefix + i, h, path, type(), scores);
          for (int c = 0; c < 24; ++c) {
            ASSERT_NEAR(out[static_cast<std::size_t>((i * 6 + h) * 24 + c)],
                        expected[static_cast<std::size_t>(c)], tolerance)
                << "window " << scores.window << " cap " << scores.cap << " prefix " << prefix << " node "
                << i;
          }
        }
      }
    }
  }
}

TEST_P(AttentionScoresTest, TreeRowsHaveTheBitsOfTheirPathRunInOrder) {
  std::mt19937 random(12);
  const std::size_t width = 6 * 24;
  for (const TestScores& scores : kinds()) {
    for (const int prefix : {0, 1, 31, 47, 130}) {
      const int nodes = 25;
      const TestTokens tokens(prefix + nodes, 6, 2, 24, static_cast<std::uint32_t>(prefix + nodes));
      const Tree tree(nodes, random);
      TestCache cache(type(), 2, 24, 192);
      for (int t = 0; t < prefix + nodes; ++t) tokens.store(cache.view, t, t);
      TestRows rows;
      for (int i = 0; i < nodes; ++i) add_tree_row(rows, tree, i, prefix);
      const std::vector<float> out = attend(isa(), tokens, cache.view, rows, InputForm::F32, 3, scores);
      ASSERT_EQ(out, attend(Isa::Portable, tokens, cache.view, rows, InputForm::F32, 1, scores));
      for (int i = 0; i < nodes; ++i) {
        const std::vector<int> path = path_of(tree, i, prefix);
        const auto plain =
            attend_in_order(isa(), tokens, type(), path, static_cast<int>(path.size()) - 1, scores);
        ASSERT_EQ(std::memcmp(plain.data(), &out[static_cast<std::size_t>(i) * width], width * sizeof(float)),
                  0)
            << "window " << scores.window << " prefix " << prefix << " node " << i;
      }
    }
  }
}

/// Pages wholly outside the window of every row may hold anything.
TEST_P(AttentionScoresTest, NothingBeforeTheWindowIsRead) {
  const int length = 300;
  const TestScores scores{.window = 50};
  const TestTokens tokens(length, 4, 1, 32, 9);
  for (const DType kind : {type(), DType::Q8_0}) {
    TestCache whole(kind, 1, 32, 320);
    TestCache part(kind, 1, 32, 320);
    for (int t = 0; t < length; ++t) tokens.store(whole.view, t, t);
    for (int t = 192; t < length; ++t) tokens.store(part.view, t, t);
    TestRows rows;
    for (int t = 245; t < length; ++t) rows.add(t, t + 1, {});
    EXPECT_EQ(attend(isa(), tokens, whole.view, rows, InputForm::F32, 1, scores),
              attend(isa(), tokens, part.view, rows, InputForm::F32, 1, scores));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, AttentionScoresTest,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(DType::F32, DType::BF16)),
                         variant_name);

}  // namespace
}  // namespace augur
