#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace augur {

/// Finds stop strings in a text that arrives in pieces. Text that may be the beginning of one is held back.
class StopMatcher {
 public:
  /// Error for an empty stop string.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Text that is now known to stay. Once stopped(), nothing more comes.
  std::string push(std::string_view piece);
  /// What was held back, at the end.
  std::string flush();
  bool stopped() const { return !stop_string_.empty(); }
  const std::string& stop_string() const { return stop_string_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::string stop_string_;  ///< that was found; empty: none
};

/// Generated tokens -> text that can be shown: whole characters, up to a stop string.
class TextStream {
 public:
  /// `prompt` is decoded silently, so that the first generated piece joins it as it should.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::vector<std::string> stops,
             StreamDecoder decoder);

  /// Text released by this token. Ids above the tokenizer's vocabulary (a padded head) have none.
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
