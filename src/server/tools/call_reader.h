#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "server/tools/call_state.h"

namespace augur {

/// What readers of calls have in common: how far they are, the name, and arguments as JSON that wait to be
/// handed on.
class CallReader {
 public:
  CallState state() const { return state_; }
  const std::string& name() const { return name_; }
  /// Arguments that have come in since the last call.
  std::string take_arguments() { return std::exchange(arguments_, {}); }

 protected:
  /// Goes through `text` by step(c), false: the call breaks. Returns how many bytes it has taken: all of them
  /// unless the call ends in them or breaks.
  template <class Step>
  std::size_t read(std::string_view text, const Step& step) {
    std::size_t taken = 0;
    while (taken < text.size() && state_ == CallState::Reading) {
      if (!step(text[taken])) state_ = CallState::Broken;
      if (state_ != CallState::Broken) ++taken;
    }
    return taken;
  }

  CallState state_ = CallState::Reading;
  std::string name_;
  std::string arguments_;
};

}  // namespace augur
