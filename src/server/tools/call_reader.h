#pragma once
#include <algorithm>
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

  /// Adds a byte to a name that ends before `end`. False: it cannot be one.
  static bool add_to_name(std::string& name, char c, std::string_view end, bool& ended) {
    name += c;
    ended = name.ends_with(end);
    if (ended) name.resize(name.size() - end.size());
    if (ended) return !name.empty();
    if (c == '\n' || (c == '<' && !end.starts_with(c))) return false;
    // Where it begins further ahead, it has been found to be none.
    const std::size_t at = name.find(end.front(), name.size() - std::min(name.size(), end.size()));
    return at == std::string::npos || end.starts_with(std::string_view(name).substr(at));
  }

  CallState state_ = CallState::Reading;
  std::string name_;
  std::string arguments_;
};

}  // namespace augur
