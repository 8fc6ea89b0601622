#include <algorithm>
#include <numeric>

#include "attention_fixture.h"

namespace augur {
namespace {

using Param = AttentionVariant;

class AttentionTest : public testing::TestWithParam<Param> {
 protected:
  Isa isa() const { return std::get<0>(GetParam()); }
  DType type() const { return std::get<1>(GetParam()); }
  float stored(float v) const { return type() == DType::BF16 ? to_float(to_bf16(v)) : v; }
};

struct Reference {
  std::vector<double> out;
  std::vector<double> tolerance;
};

/// Attention of one head in float64 over the values as they are stored, with the error that float32 sums and
/// (BF16) the rounding of q and p can bring.
Reference reference(const TestTokens& tokens, int token, int head, const std::vector<int>& seen, DType type) {
  const int d = tokens.head_dim;
  const int kv_head = head / (tokens.heads / tokens.kv_heads);
  const bool bf16 = type == DType::BF16;
  const auto stored = [&](float v) { return static_cast<double>(bf16 ? to_float(to_bf16(v)) : v); };
  const double eps = 0x1p-24;
  const double unit = bf16 ? 0x1p-9 : eps;
  const double scale = 1.0 / std::sqrt(static_cast<double>(d));
  std::vector<double> score(seen.size());
  double score_error = 0.0;
  for (std::size_t j = 0; j < seen.size(); ++j) {
    double magnitude = 0.0;
    for (int i = 0; i < d; ++i) {
      const double product =
          stored(tokens.query(token)[head * d + i]) * stored(tokens.key(seen[j], kv_head)[i]);
      score[j] += product;
      magnitude += std::abs(product);
    }
    // The chain of d additions, then the shift, the scaling and the exponential of the difference.
    score_error = std::max(score_error, scale * magnitude * (d + 8) * eps);
    score[j] *= scale;
  }
  const double max = *std::max_element(score.begin(), score.end());
  double total = 0.0;
  for (const double s : score) total += std::exp(s - max);
  // Relative error of every p: twice the scores' (it and the maximum), the polynomial, the rounding.
  const double p_error = 2.0 * score_error + (bf16 ? 4e-6 : 4e-7) + unit + 16 * eps;
  Reference result;
  for (int c = 0; c < d; ++c) {
    double sum = 0.0;
    double magnitude = 0.0;
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const double term = std::exp(score[j] - max) / total * stored(tokens.value(seen[j], kv_head)[c]);
      sum += term;
      magnitude += std::abs(term);
    }
    const double chain = static_cast<double>(seen.size()) * eps;
    result.out.push_back(sum);
    result.tolerance.push_back(magnitude * (2.0 * p_error + chain) * 1.01 + 1e-9);
  }
  return result;
}

TEST_P(AttentionTest, AgreesWithFloat64) {
  struct Shape {
    int heads, kv_heads, head_dim;
  };
  for (const Shape shape :
       {Shape{9, 3, 64}, Shape{8, 4, 8}, Shape{4, 1, 80}, Shape{2, 2, 128}, Shape{30, 1, 6}}) {
    for (const int length : {1, 2, 15, 16, 17, 33, 100}) {
      const TestTokens tokens(length, shape.heads, shape.kv_heads, shape.head_dim, 7u);
      TestCache cache(type(), shape.kv_heads, shape.head_dim, 112);
      for (int t = 0; t < length; ++t) tokens.store(cache.view, t, t);
      TestRows rows;
      for (int t = std::max(0, length - 20); t < length; ++t) rows.add(t, t + 1, {});
      const std::vector<float> out = attend(isa(), tokens, cache.view, rows);
      for (std::size_t r = 0; r < rows.tokens.size(); ++r) {
        std::vector<int> seen(static_cast<std::size_t>(rows.tokens[r] + 1));
        std::iota(seen.begin(), seen.end(), 0);
        for (int h = 0; h < shape.heads; ++h) {
          const Reference expected = reference(tokens, rows.tokens[r], h, seen, type());
          for (int c = 0; c < shape.head_dim; ++c) {
            const std::size_t at = (r * static_cast<std::size_t>(shape.heads) + static_cast<std::size_t>(h)) *
                                       static_cast<std::size_t>(shape.head_dim) +
                                   static_cast<std::size_t>(c);
            ASSERT_NEAR(out[at], expected.out[static_cast<std::size_t>(c)],
                        expected.tolerance[static_cast<std::size_t>(c)])
                << "head_dim " << shape.head_dim << " length " << length << " row " << r << " head " << h;
          }
        }
      }
    }
  }
}

TEST_P(AttentionTest, TreeRowsHaveTheBitsOfTheirPathRunInOrder) {
  std::mt19937 random(11);
  for (const int prefix : {0, 1, 2, 15, 16, 31, 47, 130}) {
    for (const int nodes : {1, 5, 40}) {
      const TestTokens tokens(prefix + nodes, 6, 2, 24, static_cast<std::uint32_t>(prefix + nodes));
      const Tree tree(nodes, random);
      TestCache cache(type(), 2, 24, 192);
      for (int t = 0; t < prefix + nodes; ++t) tokens.store(cache.view, t, t);
      TestRows rows;
      for (int i = 0; i < nodes; ++i) add_tree_row(rows, tree, i, prefix);
      const std::vector<float> out = attend(isa(), tokens, cache.view, rows);
      const std::size_t width = 6 * 24;
      for (int i = 0; i < nodes; ++i) {
        std::vector<int> sequence(static_cast<std::size_t>(prefix));
        std::iota(sequence.begin(), sequence.end(), 0);
        for (const int node : tree.path(i)) sequence.push_back(prefix + node);
        const std::vector<float> plain =
            attend_in_order(isa(), tokens, type(), sequence, static_cast<int>(sequence.size()) - 1);
        ASSERT_EQ(std::memcmp(plain.data(), &out[static_cast<std::size_t>(i) * width], width * sizeof(float)),
                  0)
            << "prefix " << prefix << " nodes " << nodes << " node " << i;
      }
    }
  }
}

TEST_P(AttentionTest, NeitherNeighboursNorPartitionNorOutputTypeMatter) {
  std::mt19937 random(5);
  const int prefix = 75;
  const int nodes = 64;
  const TestTokens tokens(prefix + nodes, 9, 3, 64, 3);
  const Tree tree(nodes, random);
  TestCache cache(type(), 3, 64, 144);
  for (int t = 0; t < prefix + nodes; ++t) tokens.store(cache.view, t, t);
  TestRows all;
  for (int i = 0; i < nodes; ++i) add_tree_row(all, tree, i, prefix);
  const std::vector<float> expected = attend(isa(), tokens, cache.view, all);
  for (const int parts : {2, 3, 7}) {
    ASSERT_EQ(attend(isa(), tokens, cache.view, all, InputForm::F32, parts), expected) << parts;
  }
  const std::vector<float> rounded = attend(isa(), tokens, cache.view, all, InputForm::BF16, 2);
  for (std::size_t i = 0; i < rounded.size(); ++i) ASSERT_EQ(rounded[i], to_float(to_bf16(expected[i])));

  const std::size_t width = 9 * 64;
  for (int trial = 0; trial < 20; ++trial) {
    // Any mix of rows: from the tree and from the middle of the prefix, in any order.
    std::vector<int> chosen(static_cast<std::size_t>(nodes));
    std::iota(chosen.begin(), chosen.end(), 0);
    std::shuffle(chosen.begin(), chosen.end(), random);
    chosen.resize(1 + random() % 30);
    TestRows some;
    for (const int node : chosen) {
      add_tree_row(some, tree, node, prefix);
      const int token = static_cast<int>(random() % static_cast<unsigned>(prefix));
      some.add(token, token + 1, {});
    }
    const std::vector<float> out = attend(isa(), tokens, cache.view, some);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_EQ(std::memcmp(&out[2 * i * width], &expected[static_cast<std::size_t>(chosen[i]) * width],
                            width * sizeof(float)),
                0)
          << "trial " << trial << " row " << i;
    }
  }
}

TEST_P(AttentionTest, AllVariantsGiveTheSameBits) {
  std::mt19937 random(23);
  for (const int head_dim : {8, 64, 72}) {
    const int prefix = 45;
    const int nodes = 30;
    const TestTokens tokens(prefix + nodes, 6, 2, head_dim, 17);
    const Tree tree(nodes, random);
    TestCache cache(type(), 2, head_dim, 80);
    for (int t = 0; t < prefix + nodes; ++t) tokens.store(cache.view, t, t);
    TestRows rows;
    for (int i = 0; i < nodes; ++i) add_tree_row(rows, tree, i, prefix);
    ASSERT_EQ(attend(isa(), tokens, cache.view, rows), attend(Isa::Portable, tokens, cache.view, rows));
  }
}

TEST_P(AttentionTest, MovedSlotsKeepTheirContents) {
  const TestTokens tokens(40, 6, 2, 10, 29);
  for (const auto& [from, to] :
       {std::pair{20, 3}, {21, 20}, {17, 16}, {39, 0}, {30, 31}, {70, 3}, {64, 63}}) {
    TestCache direct(type(), 2, 10, 80);
    TestCache moved(type(), 2, 10, 80);
    tokens.store(direct.view, 5, to);
    tokens.store(moved.view, 5, from);
    kv_move(moved.view, from, to);
    kv_move(direct.view, to, from);  // now both caches hold it in both slots
    ASSERT_EQ(std::memcmp(direct.memory.data(), moved.memory.data(), direct.memory.size()), 0)
        << from << " -> " << to;
  }
}

TEST_P(AttentionTest, FarScoresDoNotOverflow) {
  const int d = 16;
  TestTokens tokens(3, 1, 1, d, 1);
  for (int i = 0; i < d; ++i) {
    tokens.q[static_cast<std::size_t>(2 * d + i)] = 100.0f;
    for (int t = 0; t < 3; ++t) tokens.k[static_cast<std::size_t>(t * d + i)] = t == 1 ? 100.0f : -100.0f;
  }
  TestCache cache(type(), 1, d, 16);
  for (int t = 0; t < 3; ++t) tokens.store(cache.view, t, t);
  TestRows rows;
  rows.add(2, 3, {});
  const std::vector<float> out = attend(isa(), tokens, cache.view, rows);
  for (int c = 0; c < d; ++c) ASSERT_EQ(out[static_cast<std::size_t>(c)], stored(tokens.value(1, 0)[c]));
}

INSTANTIATE_TEST_SUITE_P(Variants, AttentionTest,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(DType::F32, DType::BF16)),
                         variant_name);

}  // namespace
}  // namespace augur
