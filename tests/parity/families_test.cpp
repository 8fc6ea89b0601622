#include <gtest/gtest.h>

#include <random>

#include "model/prefill.h"
#include "support/golden_models.h"
#include "unit/model/model_fixture.h"

// The promise that speculation rests on, for a model of every family: what a row yields depends on the tokens
// of its path only, bit for bit, whatever the variant. Texts are longer than two windows of those that have
// some, and trees lie across a window's edge.

namespace augur::test {
namespace {

using testing_support::golden_model_names;
using testing_support::golden_model_path;

struct Row {
  TokenId token;
  std::int32_t parent;  ///< -1: the prefix
  std::vector<TokenId> path;
};

class FamilyTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Model> load(Backend& backend, WeightFormat weights) {
    return Model::load(backend, Checkpoint::open(golden_model_path(GetParam())),
                       {.weights = weights, .context = context_});
  }
  std::vector<TokenId> random_tokens(const Model& model, int count) {
    std::vector<TokenId> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(random_token(model));
    return tokens;
  }
  TokenId random_token(const Model& model) {
    return static_cast<TokenId>(random_() % static_cast<unsigned>(model.config().vocab));
  }
  std::vector<Row> random_tree(const Model& model, const std::vector<TokenId>& prefix, int size) {
    std::vector<Row> rows;
    for (int i = 0; i < size; ++i) {
      const int parent = static_cast<int>(random_() % static_cast<unsigned>(i + 1)) - 1;
      Row row{random_token(model), parent, parent < 0 ? prefix : rows[static_cast<std::size_t>(parent)].path};
      row.path.push_back(row.token);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  /// Logits of all rows of the trees, each behind its prefix, in one forward.
  static std::vector<std::vector<float>> logits_of(Model& model,
                                                   const std::vector<std::vector<TokenId>>& prefixes,
                                                   const std::vector<std::vector<Row>>& trees, int chunk) {
    Rows rows;
    std::vector<KvCache> caches;
    std::vector<KvTxn> txns;
    std::vector<TokenBatch::Sequence> sequences;
    caches.reserve(trees.size());
    txns.reserve(trees.size());
    for (std::size_t s = 0; s < trees.size(); ++s) {
      KvCache& cache = caches.emplace_back(model.make_cache());
      prefill(model, prefixes[s], cache, {.chunk = chunk});
      txns.push_back(cache.reserve(std::ssize(trees[s])));
      const auto first = static_cast<int>(rows.tokens.size());
      sequences.push_back(
          {.kv = &txns.back(), .first_row = first, .rows = static_cast<int>(trees[s].size())});
      for (const Row& row : trees[s]) {
        rows.add(row.token, std::ssize(row.path) - 1, row.parent < 0 ? -1 : first + row.parent);
      }
    }
    model.forward(rows.batch(sequences));
    const auto count = static_cast<int>(rows.tokens.size());
    const LogitRows logits(model, count);
    std::vector<std::int32_t> all;
    for (int r = 0; r < count; ++r) all.push_back(r);
    model.logits(all, logits.data(), logits.stride());
    std::vector<std::vector<float>> result;
    for (int r = 0; r < count; ++r) result.push_back(logits.row(r));
    return result;
  }

  const std::int64_t context_ = testing_support::golden_model_context(GetParam());
  std::mt19937 random_{17};
};

TEST_P(FamilyTest, TreeRowsHaveTheBitsOfTheirText) {
  for (const WeightFormat weights : {WeightFormat::BF16, WeightFormat::F32}) {
    std::vector<std::vector<std::vector<float>>> by_variant;
    random_.seed(17);
    std::vector<std::vector<TokenId>> prefixes;
    std::vector<std::vector<Row>> trees;
    for (const Isa isa : supported_isas()) {
      Backend backend(2, false, isa);
      const auto model = load(backend, weights);
      if (trees.empty()) {
        for (const std::int64_t eighths : {1, 6, 3}) {
          prefixes.push_back(random_tokens(*model, static_cast<int>(context_ * eighths / 8)));
          trees.push_back(random_tree(*model, prefixes.back(), 14));
        }
      }
      by_variant.push_back(logits_of(*model, prefixes, trees, 23));
      // AMX sums blocks of 32 in an order of its own (gemm.h).
      const bool own_order = isa == Isa::Amx && weights == WeightFormat::BF16;
      ASSERT_TRUE(own_order || by_variant.back() == by_variant.front()) << name(isa);
      if (isa != supported_isas().back()) continue;
      // One after the other, from nothing.
      std::size_t row = 0;
      for (std::size_t s = 0; s < trees.size(); ++s) {
        for (std::size_t r = 0; r < trees[s].size(); ++r, ++row) {
          if (r % 5 != 0) continue;
          ASSERT_TRUE(by_variant.back()[row] == logits_after(*model, trees[s][r].path)) << s << ", " << r;
        }
      }
    }
  }
}

TEST_P(FamilyTest, NeitherThreadsNorChunksNorCompanyMatter) {
  Backend one(1);
  Backend four(4);
  const auto a = load(one, WeightFormat::BF16);
  const auto b = load(four, WeightFormat::BF16);
  const std::vector<std::vector<TokenId>> prefixes = {random_tokens(*a, static_cast<int>(context_ * 5 / 8)),
                                                      random_tokens(*a, static_cast<int>(context_ / 4))};
  const std::vector<std::vector<Row>> trees = {random_tree(*a, prefixes[0], 20),
                                               random_tree(*a, prefixes[1], 30)};
  const auto both = logits_of(*a, prefixes, trees, 1);
  ASSERT_TRUE(logits_of(*b, prefixes, trees, 64) == both);
  const auto second = logits_of(*b, {prefixes[1]}, {trees[1]}, 7);
  ASSERT_TRUE(std::equal(second.begin(), second.end(), both.begin() + 20));
}

INSTANTIATE_TEST_SUITE_P(Models, FamilyTest, testing::ValuesIn(golden_model_names()),
                         [](const auto& v) { return v.param; });

}  // namespace
}  // namespace augur::test
