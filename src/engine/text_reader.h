#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "augur/text_outputs.h"
#include "base/buffer.h"
#include "base/types.h"
#include "model/model.h"

namespace augur {

/// Runs given texts through the target and gives what it makes of them. Texts share forward passes, which
/// changes no bits; memory is that of kRows rows, and of the caches of the texts in one pass. Throws Error
/// for an empty text, an id outside the vocabulary, a text longer than the context, and when `cancel` is set
/// (read before every pass). Uses the model's workspace: for one thread at a time.
class TextReader {
 public:
  /// `cancel`: null, or outlives the reader, as `model` does.
  TextReader(Model& model, const std::atomic<bool>* cancel);

  // As Engine's functions of these names; callbacks are called as they are.
  void logits(std::span<const TokenId> tokens, const LogitsCallback& on_rows);
  std::vector<float> hidden_states(std::span<const TokenId> tokens, int layer);
  std::vector<float> embed(std::span<const TokenId> tokens, Pooling pooling, bool normalised);
  void score(std::span<const ScoredText> texts, const ScoreCallback& on_score);

 private:
  static constexpr int kRows = 256;  ///< of a pass, and of logits that are held at once

  /// Rows of one text in a pass.
  struct Part {
    std::size_t text = 0;
    std::int64_t first = 0;  ///< token of the first row
    int row = 0;             ///< of the pass
    int rows = 0;
  };
  /// Called after every pass with its parts, texts in their order.
  using Look = std::function<void(std::span<const Part> parts)>;

  void check(std::span<const TokenId> tokens) const;
  void read(std::span<const std::span<const TokenId>> texts, const Look& look,
            std::span<const Tap> taps = {});
  /// For rows of the last pass: [rows, stride_], valid until the next call.
  const float* compute_logits(std::span<const std::int32_t> rows);

  Model& model_;
  const std::atomic<bool>* cancel_;
  std::int64_t stride_;  ///< of a row of logits
  Buffer<float> logits_;
};

}  // namespace augur
