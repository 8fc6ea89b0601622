#pragma once
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/ops.h"
#include "model/prefill.h"

namespace augur::test {

/// Logits of single rows of a model, with the buffer they need.
class LogitsReader {
 public:
  explicit LogitsReader(Model& model)
      : model_(model),
        stride_((model.config().vocab + 15) / 16 * 16),
        values_(static_cast<std::size_t>(stride_)) {}

  /// Of a hidden row as forward() and prefill() return it.
  std::span<const float> of(std::span<const float> hidden) {
    model_.logits_of(hidden.data(), 1, false, values_.data(), stride_);
    return {values_.data(), static_cast<std::size_t>(model_.config().vocab)};
  }

 private:
  Model& model_;
  std::int64_t stride_;
  Buffer<float> values_;
};

/// `count` tokens of greedy decoding behind `prompt`.
inline std::vector<TokenId> greedy(Model& model, std::vector<TokenId> prompt, int count) {
  KvCache cache = model.make_cache();
  LogitsReader logits(model);
  std::vector<TokenId> result;
  for (int i = 0; i < count; ++i) {
    const auto row = logits.of(prefill(model, prompt, cache));
    result.push_back(static_cast<TokenId>(argmax(row.data(), static_cast<std::int64_t>(row.size()))));
    prompt = {result.back()};
  }
  return result;
}

}  // namespace augur::test
