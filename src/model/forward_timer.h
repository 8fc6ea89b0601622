#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "model/model.h"

namespace augur {

/// Some text: what a forward takes does not depend on it.
std::vector<TokenId> some_text(std::int64_t tokens, std::int32_t vocab);

/// Times forwards of a chain of rows with all their logits, behind a growing text. Each is rolled back, so
/// that all begin from the same state.
class ForwardTimer {
 public:
  struct Times {
    double layers_ms = 0;
    double logits_ms = 0;  ///< with the final norm
    double ms() const { return layers_ms + logits_ms; }
  };

  /// For texts of `capacity` tokens with the rows behind them, `most_rows` in one forward. Model and clock
  /// outlive it.
  ForwardTimer(Model& target, std::int64_t capacity, int most_rows, const Clock& clock = Clock::steady());

  const Clock& clock() const { return clock_; }
  std::int64_t length() const { return cache_.length(); }
  /// Lets the text grow up to `length` tokens, or until the clock shows `until_ms`.
  void grow(std::int64_t length, double until_ms = std::numeric_limits<double>::infinity());
  /// One forward. `profile`, which is added to, may be null.
  Times time(int rows, ForwardProfile* profile = nullptr);

 private:
  Model& target_;
  const Clock& clock_;
  KvCache cache_;
  std::int64_t stride_;
  Buffer<float> logits_;
  std::vector<TokenId> text_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> logit_rows_;
};

}  // namespace augur
