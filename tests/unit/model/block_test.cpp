// Passes over blocks, whose rows see one another in both directions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "unit/model/model_fixture.h"

namespace augur::test {
namespace {

using testing::HasSubstr;

constexpr int kPrefix = 37;
constexpr int kRows = 6;

class BlockTest : public testing::TestWithParam<WeightFormat> {
 protected:
  BlockTest() : model_(Model::random(backend_, tiny_config("qwen3"), 7, {.weights = GetParam()})) {}

  /// What layers [0, last_layer) make of a block behind a prefix.
  std::vector<float> run(std::span<const BlockMask> block, int last_layer = -1) {
    KvCache cache = model_->make_cache();
    for (int i = 0; i < kPrefix; ++i) step(*model_, cache, (i * 29) % 150);
    Rows rows;
    for (int i = 0; i < kRows; ++i) rows.add((i * 31 + 5) % 150, kPrefix + i, i - 1);
    KvTxn txn = cache.reserve(kRows);
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = kRows};
    model_->forward(rows.batch({&sequence, 1}), {.last_layer = last_layer, .block = block});
    const std::span<const float> result = model_->result();
    return {result.begin(), result.end()};
  }
  std::vector<BlockMask> all(const BlockMask& mask) { return std::vector<BlockMask>(3, mask); }
  std::span<const float> row(const std::vector<float>& rows, int index) {
    return std::span(rows).subspan(static_cast<std::size_t>(index) * 40, 40);
  }
  bool same(std::span<const float> a, std::span<const float> b) {
    return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }
  std::string refusal(std::span<const BlockMask> block) {
    try {
      run(block);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  Backend backend_{2};
  std::unique_ptr<Model> model_;
};

TEST_P(BlockTest, ACausalOneIsAChain) {
  EXPECT_EQ(run(all({.causal = true})), run({}));
  EXPECT_NE(run(all({})), run({}));
}

TEST_P(BlockTest, RowsSeeWhatComesAfterThem) {
  // After one layer only the last row, which sees everything either way, is what it is in a chain.
  const std::vector<float> both = run(all({}), 1);
  const std::vector<float> chain = run({}, 1);
  for (int r = 0; r < kRows; ++r) {
    EXPECT_EQ(same(row(both, r), row(chain, r)), r == kRows - 1) << r;
  }
}

TEST_P(BlockTest, AWindowCutsOffWhatLiesFarBehind) {
  for (const bool causal : {false, true}) {
    const std::vector<float> open = run(all({.causal = causal}), 1);
    // Row r's window of w begins at slot kPrefix + r - w + 1.
    const std::vector<float> wide = run(all({.window = kPrefix + 3, .causal = causal}), 1);
    for (int r = 0; r < kRows; ++r) EXPECT_EQ(same(row(open, r), row(wide, r)), r <= 2) << r;
    EXPECT_EQ(open, run(all({.window = kPrefix + kRows, .causal = causal}), 1));
  }
  // A row that sees itself alone takes its own value, whatever it is asked.
  const std::vector<float> alone = run(all({.window = 1, .causal = true}), 1);
  KvCache empty = model_->make_cache();
  for (int r = 0; r < kRows; ++r) {
    Rows rows;
    rows.add((r * 31 + 5) % 150, 0, -1);
    KvTxn txn = empty.reserve(1);
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 1};
    model_->forward(rows.batch({&sequence, 1}), {.last_layer = 1});
    EXPECT_TRUE(same(row(alone, r), model_->result())) << r;
  }
}

TEST_P(BlockTest, LayersMayDiffer) {
  const BlockMask mixed[] = {{.window = 8, .causal = true}, {}, {.window = 8, .causal = true}};
  const std::vector<float> rows = run(mixed);
  EXPECT_NE(rows, run(all(mixed[0])));
  EXPECT_NE(rows, run(all(mixed[1])));
}

TEST_P(BlockTest, MalformedOnesAreRefused) {
  EXPECT_THAT(refusal(std::vector<BlockMask>(2)), HasSubstr("2 layers of 3"));
  EXPECT_THAT(refusal(all({.window = -1})), HasSubstr("window of -1"));
  std::vector<BlockMask> block = all({});
  KvCache cache = model_->make_cache();
  Rows rows;
  rows.add(1, 0, -1);
  rows.add(2, 1, -1);
  KvTxn txn = cache.reserve(2);
  const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 2};
  EXPECT_THROW(model_->forward(rows.batch({&sequence, 1}), {.block = block}), Error);
}

INSTANTIATE_TEST_SUITE_P(Types, BlockTest, testing::Values(WeightFormat::BF16, WeightFormat::F32),
                         [](const auto& test) { return test.param == WeightFormat::F32 ? "F32" : "BF16"; });

}  // namespace
}  // namespace augur::test
