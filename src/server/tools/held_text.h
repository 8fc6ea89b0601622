#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

// What readers of an answer that comes in parts hold back.
namespace augur {

constexpr std::string_view kTextSpaces = " \n\t\r";

/// `text` from its first character on that is no space.
inline std::string_view without_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kTextSpaces), text.size()));
}

/// Length of the longest end of `text` that `word` begins with, short of the whole word.
inline std::size_t begun_at_end(std::string_view text, std::string_view word) {
  if (word.empty()) return 0;
  for (std::size_t n = std::min(text.size(), word.size() - 1); n > 0; --n) {
    if (text.ends_with(word.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace augur
