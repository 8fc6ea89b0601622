#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/types.h"
#include "sampling/token_mask.h"

namespace augur {

/// What one sequence's text has to be, token by token. It stands at the end of a text that begins empty.
/// One thread at a time.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Goes on behind the token. False, and nothing else, where it may not come next.
  virtual bool accept(TokenId token) = 0;
  /// Takes back so many of the tokens that were accepted.
  virtual void roll_back(int tokens) = 0;
  /// The text is complete and its end has been accepted: what follows is nobody's concern.
  virtual bool ended() const = 0;
  /// Which tokens may come next, as a TokenMask of the vocabulary. Not once it has ended. Throws where it
  /// takes more than it may, and has changed nothing then.
  virtual void fill(std::span<std::uint32_t> mask) = 0;
  /// The same within so many steps of work(); false: it takes more.
  virtual bool try_fill(std::span<std::uint32_t> mask, [[maybe_unused]] std::int64_t steps) {
    fill(mask);
    return true;
  }
  /// fill() on any thread. `stopped` is asked now and then; where it says true, something is thrown.
  virtual void fill_unless(std::span<std::uint32_t> mask,
                           [[maybe_unused]] const std::function<bool()>& stopped) {
    fill(mask);
  }
  /// The bytes that any text goes on with from here, as far as they are known. Not once it has ended.
  virtual std::string forced() { return {}; }
  /// Steps of work that all calls have taken so far, each less than a microsecond: the same for the same
  /// calls.
  virtual std::int64_t work() const { return 0; }
};

}  // namespace augur
