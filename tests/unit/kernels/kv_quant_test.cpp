#include "kernels/kv_quant.h"

#include <cstring>

#include "attention_fixture.h"
#include "kernels/quant_rows.h"

namespace augur {
namespace {

/// What an 8-bit cache makes of values: scale * q, which a bf16 cache then rounds.
std::vector<float> quantised(const std::vector<float>& values) {
  std::vector<float> out;
  for (std::size_t i = 0; i < values.size(); i += QuantBlock::kElements) {
    QuantBlock block;
    quantize_row_reference(values.data() + i, QuantBlock::kElements, &block);
    for (const std::int8_t q : block.q) out.push_back(block.scale * static_cast<float>(q));
  }
  return out;
}

class KvQuant : public testing::TestWithParam<Isa> {};

/// The law: attention over 8 bits is attention over the bf16 cache that they stand for, bit for bit.
TEST_P(KvQuant, IsTheBf16CacheItStandsFor) {
  for (const int head_dim : {32, 64, 128}) {
    const TestTokens tokens(60, 6, 2, head_dim, 3);
    TestTokens stored = tokens;
    stored.k = quantised(tokens.k);
    stored.v = quantised(tokens.v);
    TestCache eight(DType::Q8_0, 2, head_dim, 64);
    TestCache bf16(DType::BF16, 2, head_dim, 64);
    for (int t = 0; t < 60; ++t) {
      tokens.store(eight.view, t, t);
      stored.store(bf16.view, t, t);
    }
    TestRows rows;
    rows.add(45, 46, {});
    rows.add(50, 40, {44, 47, 50});
    rows.add(51, 33, {});
    rows.add(59, 41, {59});
    for (const int parts : {1, 3}) {
      EXPECT_EQ(attend(GetParam(), tokens, eight.view, rows, InputForm::F32, parts),
                attend(GetParam(), tokens, bf16.view, rows))
          << head_dim;
    }
  }
}

/// A tree's rows, wherever their slots lie, are the same tokens run one after the other; also once the
/// accepted ones were moved.
TEST_P(KvQuant, PlacesDoNotMatter) {
  const TestTokens tokens(60, 4, 2, 64, 9);
  const std::vector<int> path = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 30, 41, 52};
  const std::vector<float> expected = attend_in_order(GetParam(), tokens, DType::Q8_0, path, 19);
  TestCache cache(DType::Q8_0, 2, 64, 64);
  for (int i = 0; i < 17; ++i) tokens.store(cache.view, path[static_cast<std::size_t>(i)], i);
  tokens.store(cache.view, 30, 19);
  tokens.store(cache.view, 41, 33);
  tokens.store(cache.view, 52, 34);
  TestRows row;
  row.add(52, 17, {19, 33, 34});
  EXPECT_EQ(attend(GetParam(), tokens, cache.view, row), expected);
  kv_move(cache.view, 19, 17);
  kv_move(cache.view, 33, 18);
  kv_move(cache.view, 34, 19);
  TestRows moved;
  moved.add(52, 20, {});
  EXPECT_EQ(attend(GetParam(), tokens, cache.view, moved), expected);
}

INSTANTIATE_TEST_SUITE_P(Isas, KvQuant, testing::ValuesIn(supported_isas()),
                         [](const auto& isa) { return std::string(name(isa.param)); });

}  // namespace
}  // namespace augur
