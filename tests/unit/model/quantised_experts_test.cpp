// Experts in the types that small files have: a row's bits depend on its text only, in every variant.
#include <gtest/gtest.h>

#include "unit/model/model_fixture.h"

namespace augur::test {
namespace {

/// Six experts, two of which a row goes to; sizes in whole blocks of `type`, not in whole steps of panels.
ModelConfig with_experts(DType type) {
  const int block = block_shape(type).elements;
  ModelConfig config = tiny_config("qwen3_moe");
  config.hidden = block == 256 ? 256 : 9 * block;
  config.heads = 8;
  config.head_dim = 32;
  config.kinds[0].qk_norm = QkNorm::PerHead;
  config.kinds[0].experts = {.count = 6, .active = 2, .width = block == 256 ? 256 : 3 * block};
  return config;
}

TEST(QuantisedExperts, RowsHaveTheBitsOfTheirTextInEveryVariant) {
  constexpr int kRows = 13;
  for (const DType type : {DType::MXFP4, DType::IQ4_NL, DType::IQ4_XS, DType::Q3_K, DType::Q2_K}) {
    std::vector<std::vector<float>> first;
    for (const Isa isa : supported_isas()) {
      Backend backend(2, false, isa);
      const auto model =
          Model::random(backend, with_experts(type), 5, {.form = WeightForm{.quantize = type}});
      EXPECT_EQ(model->types().front(), type);
      std::vector<TokenId> text;
      Rows rows;
      for (int i = 0; i < kRows; ++i) {
        text.push_back(static_cast<TokenId>((i * 37 + 11) % 150));
        rows.add(text.back(), i, i - 1);
      }
      KvCache cache = model->make_cache();
      KvTxn txn = cache.reserve(kRows);
      const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = kRows};
      model->forward(rows.batch({&sequence, 1}));
      const LogitRows logits(*model, kRows);
      std::vector<std::int32_t> all;
      for (int r = 0; r < kRows; ++r) all.push_back(r);
      model->logits(all, logits.data(), logits.stride());
      std::vector<std::vector<float>> got;
      for (int r = 0; r < kRows; ++r) got.push_back(logits.row(r));
      if (first.empty()) {
        first = got;
        for (const int end : {1, 7, kRows}) {
          EXPECT_EQ(got[static_cast<std::size_t>(end - 1)],
                    logits_after(*model, std::span(text).first(static_cast<std::size_t>(end))))
              << name(type) << " row " << end;
        }
      }
      EXPECT_EQ(got, first) << name(type) << ", " << name(isa);
    }
  }
}

}  // namespace
}  // namespace augur::test
