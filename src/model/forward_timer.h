#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "model/model.h"

namespace augur {

/// Some text of many different tokens: beside their number, what a forward takes depends on the experts that
/// its tokens choose.
std::vector<TokenId> some_tokens(std::int64_t tokens, std::int32_t vocab);

/// Times forwards of rows with all their logits, behind a growing text. Each is rolled back, so
/// that all begin from the same state.
class ForwardTimer {
 public:
  struct Times {
    double layers_ms = 0;
    double logits_ms = 0;  ///< with the final norm
    double experts = 0;    ///< distinct ones that the rows woke, over all layers
    double ms() const { return layers_ms + logits_ms; }
  };

  /// For texts of `capacity` tokens with the rows behind them, `most_rows` in one forward. Model and clock
  /// outlive it.
  ForwardTimer(Model& target, std::int64_t capacity, int most_rows, const Clock& clock = Clock::steady());

  const Clock& clock() const { return clock_; }
  std::int64_t length() const { return cache_.length(); }
  /// Lets the text grow up to `length` tokens, or until the clock shows `until_ms`.
  void grow(std::int64_t length, double until_ms = std::numeric_limits<double>::infinity());
  /// One forward of a chain of rows. `profile`, which is added to, may be null.
  Times time(int rows, ForwardProfile* profile = nullptr);
  /// One forward of so many candidates for the next token: different ones, or the same one again and again,
  /// whose rows choose the same experts.
  Times time_siblings(int rows, bool alike);

 private:
  Times forward(int rows, std::span<const TokenId> tokens, ForwardProfile* profile);

  Model& target_;
  const Clock& clock_;
  KvCache cache_;
  std::int64_t stride_;
  Buffer<float> logits_;
  std::vector<TokenId> tokens_;
  std::vector<TokenId> same_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> logit_rows_;
};

}  // namespace augur
