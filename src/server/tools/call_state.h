#pragma once

namespace augur {

/// How far a reader of a call is.
enum class CallState { Reading, Done, Broken };

/// What may stand around the parts of a call.
inline bool is_call_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

}  // namespace augur
