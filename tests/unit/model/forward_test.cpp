#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "model/prefill.h"
#include "unit/model/model_fixture.h"

// The promise that speculation rests on: what a row yields depends on the tokens of its path only, bit for
// bit.

namespace augur::test {
namespace {

struct Variant {
  Isa isa;
  WeightFormat weights;
  std::string family;
};

std::vector<Variant> variants() {
  std::vector<Variant> result;
  for (const Isa isa : supported_isas()) {
    for (const WeightFormat type : {WeightFormat::BF16, WeightFormat::F32})
      result.push_back({isa, type, "llama"});
  }
  result.push_back({supported_isas().back(), WeightFormat::BF16, "qwen2"});
  result.push_back({supported_isas().back(), WeightFormat::BF16, "qwen3"});
  return result;
}

class ForwardTest : public testing::TestWithParam<Variant> {
 protected:
  ForwardTest()
      : backend_(2, false, GetParam().isa),
        model_(Model::random(backend_, tiny_config(GetParam().family), 7, {.weights = GetParam().weights})) {}

  std::vector<TokenId> random_tokens(int count) {
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    for (TokenId& t : tokens) t = static_cast<TokenId>(random_() % 150);
    return tokens;
  }

  Backend backend_;
  std::unique_ptr<Model> model_;
  std::mt19937 random_{42};
};

/// A tree over a prefix: every row with the tokens that lead to it.
struct Tree {
  std::vector<TokenId> prefix;
  Rows rows;  ///< parents relative to the tree
  std::vector<std::vector<TokenId>> paths;
};

Tree random_tree(std::mt19937& random, std::vector<TokenId> prefix, int size) {
  Tree tree{.prefix = std::move(prefix), .rows = {}, .paths = {}};
  for (int i = 0; i < size; ++i) {
    const int parent = i == 0 ? -1 : static_cast<int>(random() % static_cast<unsigned>(i + 1)) - 1;
    std::vector<TokenId> path = parent < 0 ? tree.prefix : tree.paths[static_cast<std::size_t>(parent)];
    const auto token = static_cast<TokenId>(random() % 150);
    tree.rows.add(token, static_cast<std::int64_t>(path.size()), parent);
    path.push_back(token);
    tree.paths.push_back(std::move(path));
  }
  return tree;
}

std::vector<std::int32_t> all_rows(int count) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = i;
  return rows;
}

TEST_P(ForwardTest, TreeRowsOfSeveralSequencesEqualSequentialDecoding) {
  const int sizes[] = {9, 1, 23};
  const int prefixes[] = {5, 37, 0};
  std::vector<Tree> trees;
  for (int s = 0; s < 3; ++s) trees.push_back(random_tree(random_, random_tokens(prefixes[s]), sizes[s]));

  for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {2, 0, 1}, {2}}) {
    Rows rows;
    std::vector<KvCache> caches;
    std::vector<KvTxn> txns;
    std::vector<TokenBatch::Sequence> sequences;
    std::vector<const std::vector<TokenId>*> paths;
    caches.reserve(order.size());
    txns.reserve(order.size());
    for (const int s : order) {
      const Tree& tree = trees[static_cast<std::size_t>(s)];
      KvCache& cache = caches.emplace_back(model_->make_cache());
      if (!tree.prefix.empty()) prefill(*model_, tree.prefix, cache, {.chunk = 11});
      txns.push_back(cache.reserve(static_cast<std::int64_t>(tree.paths.size())));
      const int first = static_cast<int>(rows.tokens.size());
      sequences.push_back(
          {.kv = &txns.back(), .first_row = first, .rows = static_cast<int>(tree.paths.size())});
      for (std::size_t i = 0; i < tree.paths.size(); ++i) {
        const std::int32_t parent = tree.rows.parents[i];
        rows.add(tree.rows.tokens[i], tree.rows.positions[i], parent < 0 ? -1 : first + parent);
        paths.push_back(&tree.paths[i]);
      }
    }
    model_->forward(rows.batch(sequences));
    const int count = static_cast<int>(rows.tokens.size());
    const LogitRows logits(*model_, count);
    model_->logits(all_rows(count), logits.data(), logits.stride());
    for (int r = 0; r < count; ++r) {
      EXPECT_EQ(logits.row(r), logits_after(*model_, *paths[static_cast<std::size_t>(r)])) << "row " << r;
    }
  }
}

TEST_P(ForwardTest, TreeGrownLevelByLevelThenCommitted) {
  const std::vector<TokenId> prefix = random_tokens(13);
  const Tree tree = random_tree(random_, prefix, 12);
  KvCache cache = model_->make_cache();
  prefill(*model_, prefix, cache);
  KvTxn txn = cache.reserve(12);
  for (int first = 0; first < 12; first += 4) {  // four rows a forward, parents in this or an earlier one
    Rows rows;
    for (int i = first; i < first + 4; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int32_t parent = tree.rows.parents[at];
      rows.add(tree.rows.tokens[at], tree.rows.positions[at],
               parent < 0 ? -1 : (parent >= first ? parent - first : -2 - parent));
    }
    const TokenBatch::Sequence sequence{.kv = &txn,
                                        .first_row = 0,
                                        .rows = 4,
                                        .earlier_rows = first,
                                        .earlier_parents = tree.rows.parents.data()};
    model_->forward(rows.batch({&sequence, 1}));
    const LogitRows logits(*model_, 4);
    model_->logits(all_rows(4), logits.data(), logits.stride());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(logits.row(i), logits_after(*model_, tree.paths[static_cast<std::size_t>(first + i)]))
          << first + i;
    }
  }
  // Keep the deepest path; decoding goes on as if nothing else had been there.
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    if (tree.paths[i].size() > tree.paths[deepest].size()) deepest = i;
  }
  std::vector<std::int32_t> path;
  for (auto i = static_cast<std::int32_t>(deepest); i >= 0;
       i = tree.rows.parents[static_cast<std::size_t>(i)]) {
    path.insert(path.begin(), i);
  }
  txn.commit(path);
  std::vector<TokenId> tokens = tree.paths[deepest];
  tokens.push_back(3);
  EXPECT_EQ(step(*model_, cache, 3), logits_after(*model_, tokens));
}

TEST_P(ForwardTest, PrefillInAnyChunksEqualsSequentialDecoding) {
  const std::vector<TokenId> tokens = random_tokens(70);
  const std::vector<float> expected = logits_after(*model_, tokens);
  for (const int chunk : {1, 3, 16, 64, 500}) {
    KvCache cache = model_->make_cache();
    const std::span<const float> last = prefill(*model_, tokens, cache, {.chunk = chunk});
    const LogitRows logits(*model_, 1);
    model_->logits_of(last.data(), 1, false, logits.data(), logits.stride());
    EXPECT_EQ(logits.row(0), expected) << chunk;
  }
}

TEST_P(ForwardTest, ThreadCountDoesNotMatter) {
  const std::vector<TokenId> tokens = random_tokens(20);
  const std::vector<float> expected = logits_after(*model_, tokens);
  for (const int threads : {1, 3, 5}) {
    Backend other(threads, false, GetParam().isa);
    const auto model = Model::random(other, model_->config(), 7, {.weights = GetParam().weights});
    EXPECT_EQ(logits_after(*model, tokens), expected) << threads;
  }
}

TEST_P(ForwardTest, LayerRangesAndTapsComposeToTheWhole) {
  const std::vector<TokenId> tokens = random_tokens(6);
  Rows rows;
  for (int i = 0; i < 6; ++i) rows.add(tokens[static_cast<std::size_t>(i)], i, i - 1);
  const auto hidden = static_cast<std::size_t>(model_->config().hidden);

  std::vector<float> entering(6 * hidden);
  std::vector<float> leaving(6 * (hidden + 3));
  const Tap taps[] = {
      {.layer = 2, .out = entering.data(), .out_stride = static_cast<std::int64_t>(hidden)},
      {.layer = 3, .out = leaving.data(), .out_stride = static_cast<std::int64_t>(hidden + 3)}};
  KvCache cache = model_->make_cache();
  std::vector<float> whole;
  {
    KvTxn txn = cache.reserve(6);
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 6};
    model_->forward(rows.batch({&sequence, 1}), {.taps = taps});
    const std::span<const float> result = model_->result();
    whole.assign(result.begin(), result.end());
  }
  for (std::size_t r = 0; r < 6; ++r) {
    EXPECT_TRUE(std::equal(leaving.begin() + static_cast<std::ptrdiff_t>(r * (hidden + 3)),
                           leaving.begin() + static_cast<std::ptrdiff_t>(r * (hidden + 3) + hidden),
                           whole.begin() + static_cast<std::ptrdiff_t>(r * hidden)));
  }
  KvTxn txn = cache.reserve(6);
  const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 6};
  std::vector<float> embeddings(6 * hidden);
  model_->embed(tokens, embeddings.data());
  model_->forward(rows.batch({&sequence, 1}), {.last_layer = 2, .embeddings = embeddings.data()});
  const std::span<const float> lower = model_->result();
  EXPECT_TRUE(std::equal(lower.begin(), lower.end(), entering.begin()));
  model_->forward(rows.batch({&sequence, 1}), {.first_layer = 2, .input = entering.data()});
  const std::span<const float> upper = model_->result();
  EXPECT_TRUE(std::equal(upper.begin(), upper.end(), whole.begin()));
}

TEST_P(ForwardTest, HeadOfNormedRows) {
  const std::vector<TokenId> tokens = random_tokens(40);
  const auto hidden = static_cast<std::size_t>(model_->config().hidden);
  std::vector<float> rows(40 * hidden);
  model_->embed(tokens, rows.data());
  std::vector<float> normed(40 * hidden);
  model_->final_norm(rows.data(), 40, normed.data());
  const LogitRows direct(*model_, 40);
  const LogitRows given(*model_, 40);
  model_->logits_of(rows.data(), 40, false, direct.data(), direct.stride());
  model_->logits_of(normed.data(), 40, true, given.data(), given.stride());
  for (int r = 0; r < 40; ++r) EXPECT_EQ(direct.row(r), given.row(r));
}

INSTANTIATE_TEST_SUITE_P(Variants, ForwardTest, testing::ValuesIn(variants()), [](const auto& v) {
  return v.param.family + "_" + std::string(name(v.param.isa)) +
         (v.param.weights == WeightFormat::F32 ? "_f32" : "_bf16");
});

class ForwardErrors : public testing::Test {
 protected:
  std::string failure(const Rows& rows, TokenBatch::Sequence sequence, const ForwardOptions& options = {}) {
    KvTxn txn = cache_.reserve(8);
    sequence.kv = &txn;
    try {
      model_->forward(rows.batch({&sequence, 1}), options);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }
  Rows one(TokenId token = 1, std::int32_t position = 0, std::int32_t parent = -1) {
    Rows rows;
    rows.add(token, position, parent);
    return rows;
  }

  Backend backend_{1};
  std::unique_ptr<Model> model_ = Model::random(backend_, tiny_config(), 1);
  KvCache cache_ = model_->make_cache();
};

TEST_F(ForwardErrors, NameTheRow) {
  const TokenBatch::Sequence single{.first_row = 0, .rows = 1};
  using testing::HasSubstr;
  EXPECT_EQ(failure(one(), single), "accepted");
  EXPECT_THAT(failure(one(-1), single), HasSubstr("row 0: token -1"));
  EXPECT_THAT(failure(one(150), single), HasSubstr("row 0: token 150"));
  EXPECT_THAT(failure(one(1, 200), single), HasSubstr("row 0: position 200"));
  EXPECT_THAT(failure(one(1, -1), single), HasSubstr("position -1"));
  EXPECT_THAT(failure(one(1, 0, 0), single), HasSubstr("row 0: parent 0"));
  EXPECT_THAT(failure(one(1, 0, -2), single), HasSubstr("row 0: parent -2"));
  EXPECT_THAT(failure({}, single), HasSubstr("no rows"));
  EXPECT_THAT(failure(one(), {.first_row = 0, .rows = 2}), HasSubstr("sequence"));
  EXPECT_THAT(failure(one(), {.first_row = 1, .rows = 1}), HasSubstr("sequence"));
  EXPECT_THAT(failure(one(), {.first_row = 0, .rows = 1, .earlier_rows = 1}), HasSubstr("earlier"));
  const std::int32_t earlier[8] = {-1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(failure(one(), {.first_row = 0, .rows = 1, .earlier_rows = 2, .earlier_parents = earlier}),
              HasSubstr("earlier row 1"));
  EXPECT_THAT(failure(one(), {.first_row = 0, .rows = 1, .earlier_rows = 8, .earlier_parents = earlier}),
              HasSubstr("reserved"));
  EXPECT_THAT(failure(one(), single, {.first_layer = 1}), HasSubstr("input"));
  EXPECT_THAT(failure(one(), single, {.last_layer = 4}), HasSubstr("layers 0 to 4"));
  const Tap tap{.layer = 4, .out = nullptr};
  EXPECT_THAT(failure(one(), single, {.taps = {&tap, 1}}), HasSubstr("tap at layer 4"));
}

TEST_F(ForwardErrors, OfOtherCalls) {
  float out[160];
  const std::int32_t row = 0;
  EXPECT_THROW(model_->logits({&row, 1}, out, 160), Error);  // nothing was run yet
  const TokenId token = 150;
  EXPECT_THROW(model_->embed({&token, 1}, out), Error);
  EXPECT_THROW(model_->make_cache(201), Error);
  EXPECT_THROW(prefill(*model_, {}, cache_), Error);
  const std::vector<TokenId> too_long(201, 1);
  EXPECT_THROW(prefill(*model_, too_long, cache_), Error);
  EXPECT_EQ(cache_.length(), 0);
  ModelConfig other = tiny_config();
  other.kv_heads = 3;
  const auto model = Model::random(backend_, other, 1);
  KvCache cache = model->make_cache();
  EXPECT_THROW(prefill(*model_, std::vector<TokenId>{1}, cache), Error);
}

TEST_F(ForwardErrors, PrefillStopsWhenToldTo) {
  std::vector<std::int64_t> seen;
  const std::vector<TokenId> tokens(50, 1);
  const auto last =
      prefill(*model_, tokens, cache_, {.chunk = 20, .progress = [&](std::int64_t done, std::int64_t total) {
                                          EXPECT_EQ(total, 50);
                                          seen.push_back(done);
                                          return done < 40;
                                        }});
  EXPECT_TRUE(last.empty());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{20, 40}));
  EXPECT_EQ(cache_.length(), 40);
}

}  // namespace
}  // namespace augur::test
