#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace augur {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr char32_t kLastCodePoint = 0x10FFFF;

/// One step of UTF-8 decoding. `length` >= 1: how many bytes the character takes, or, when invalid, how many
/// bytes one U+FFFD replaces (the "maximal subpart" rule of the Unicode standard, section 3.9). Own code:
/// utf8proc does not tell that number.
struct DecodedCharacter {
  char32_t code = kReplacementCharacter;
  std::uint8_t length = 1;
  bool valid = false;
  bool truncated = false;  ///< invalid only because the text ends inside the character
};

/// Decodes the character at `position` < text.size().
DecodedCharacter decode_utf8(std::string_view text, std::size_t position);
void append_utf8(std::string& out, char32_t code);

/// Length in bytes of the longest valid UTF-8 prefix.
std::size_t valid_utf8_prefix(std::string_view text);
/// The text with every invalid sequence replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

}  // namespace augur
