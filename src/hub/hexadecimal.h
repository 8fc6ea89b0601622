#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace augur {

inline constexpr std::size_t kGitHashDigits = 40;  ///< of commits, too
inline constexpr std::size_t kSha256Digits = 64;

/// So many small hexadecimal digits.
inline bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// A hash of content as a hub has it: SHA-256, or what git calls a blob, SHA-1 of its length and its content.
inline bool is_content_hash(std::string_view text) {
  return is_hexadecimal(text, kGitHashDigits) || is_hexadecimal(text, kSha256Digits);
}

}  // namespace augur
