#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/types.h"
#include "sampling/token_mask.h"

namespace augur {

/// Constrains one sequence's text token by token. Its state is the end of a text that is empty at first. For
/// one thread at a time, except where noted.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Appends the token and returns true; returns false and changes nothing if the token may not come next.
  virtual bool accept(TokenId token) = 0;
  /// Removes the last `tokens` accepted tokens.
  virtual void roll_back(int tokens) = 0;
  /// Whether the text is complete and its end has been accepted; what follows is not constrained.
  virtual bool ended() const = 0;
  /// Sets `mask`, a TokenMask of the vocabulary, to the tokens that may come next. Not after the end. Throws
  /// if that takes more time or memory than allowed; then nothing has changed.
  virtual void fill(std::span<std::uint32_t> mask) = 0;
  /// The same within `steps` steps of work(); returns false if more are needed.
  virtual bool try_fill(std::span<std::uint32_t> mask, [[maybe_unused]] std::int64_t steps) {
    fill(mask);
    return true;
  }
  /// fill() on any thread, while no other thread uses this object. Calls `stopped` now and then, and throws
  /// when it returns true.
  virtual void fill_unless(std::span<std::uint32_t> mask,
                           [[maybe_unused]] const std::function<bool()>& stopped) {
    fill(mask);
  }
  /// The bytes with which every allowed text continues from here, as far as they are known. Not after the
  /// end.
  virtual std::string forced() { return {}; }
  /// Steps of work of all calls so far, each shorter than a microsecond; the same calls always take the same
  /// number.
  virtual std::int64_t work() const { return 0; }
};

}  // namespace augur
