#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace augur {

/// Finds stop strings in a text that arrives in pieces. Text that may be the beginning of a stop string is
/// held back. For one thread at a time.
class StopMatcher {
 public:
  /// Error for an empty stop string.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Returns the text that certainly belongs to the output. After stopped() it is always empty.
  std::string push(std::string_view piece);
  /// Returns what was held back, at the end of the text.
  std::string flush();
  bool stopped() const { return !stop_string_.empty(); }
  const std::string& stop_string() const { return stop_string_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::string stop_string_;  ///< the one that was found; empty: none
};

/// Turns generated tokens into text that can be shown: whole characters, up to a stop string. For one thread
/// at a time.
class TextStream {
 public:
  /// `prompt` is decoded without output, so that the first generated piece joins it correctly.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::vector<std::string> stops,
             StreamDecoder decoder);

  /// The text that this token completes. Ids above the tokenizer's vocabulary (padded logits) have none.
  std::string push(TokenId token);
  std::string flush();
  bool stopped() const { return stop_.stopped(); }
  const std::string& stop_string() const { return stop_.stop_string(); }  ///< empty: none

 private:
  const Tokenizer& tokenizer_;
  StreamDecoder decoder_;
  StopMatcher stop_;
};

}  // namespace augur
