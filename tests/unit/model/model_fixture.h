#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "kernels/backend.h"
#include "model/model.h"

namespace augur::test {

/// A small model of a family whose sizes are no multiples of anything: 2 kv heads for 6 query heads of 10.
inline ModelConfig tiny_config(const std::string& family = "llama") {
  ModelConfig config;
  config.family = family;
  config.layers = 3;
  config.hidden = 40;
  config.intermediate = 72;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 10;
  config.vocab = 150;
  config.max_context = 200;
  config.kinds[0].qkv_bias = family == "qwen2";
  config.kinds[0].qk_norm = family == "qwen3" ? QkNorm::PerHead : QkNorm::None;
  return config;
}

/// Rows of logits with the stride that Model::logits wants.
class LogitRows {
 public:
  LogitRows(const Model& model, int rows)
      : vocab_(model.config().vocab),
        stride_((vocab_ + 15) / 16 * 16),
        values_(static_cast<std::size_t>(rows * stride_)) {}
  float* data() const { return values_.data(); }
  std::int64_t stride() const { return stride_; }
  std::vector<float> row(int index) const {
    const float* first = values_.data() + index * stride_;
    return {first, first + vocab_};
  }

 private:
  std::int64_t vocab_;
  std::int64_t stride_;
  Buffer<float> values_;
};

/// One forward of rows that belong to one sequence. parents as in TokenBatch.
struct Rows {
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;

  void add(TokenId token, std::int64_t position, std::int32_t parent) {
    tokens.push_back(token);
    positions.push_back(static_cast<std::int32_t>(position));
    parents.push_back(parent);
  }
  TokenBatch batch(std::span<const TokenBatch::Sequence> sequences) const {
    return {.tokens = tokens, .positions = positions, .parents = parents, .sequences = sequences};
  }
};

/// Runs one token behind the cache's prefix, commits it and returns its logits.
inline std::vector<float> step(Model& model, KvCache& cache, TokenId token) {
  Rows rows;
  rows.add(token, cache.length(), -1);
  KvTxn txn = cache.reserve(1);
  const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 1};
  model.forward(rows.batch({&sequence, 1}));
  txn.commit_all();
  const LogitRows logits(model, 1);
  const std::int32_t row = 0;
  model.logits({&row, 1}, logits.data(), logits.stride());
  return logits.row(0);
}

/// The logits after the last of `tokens`, run one after the other from an empty cache.
inline std::vector<float> logits_after(Model& model, std::span<const TokenId> tokens) {
  KvCache cache = model.make_cache();
  std::vector<float> logits;
  for (const TokenId token : tokens) logits = step(model, cache, token);
  return logits;
}

}  // namespace augur::test
