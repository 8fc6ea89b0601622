#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace augur {

/// GPT-2's alphabet: every byte has one printable character that stands for it in vocabulary files. The
/// printable bytes of Latin-1 stand for themselves, the other 68 for U+0100 and up, in order.
std::array<char32_t, 256> byte_level_alphabet();

/// The bytes that a vocabulary entry written in that alphabet stands for; nothing when one of its characters
/// is not of the alphabet (added tokens, for instance).
class ByteLevelDecoder {
 public:
  ByteLevelDecoder();
  std::optional<std::string> bytes(std::string_view token) const;

 private:
  std::array<int, 0x144> byte_of_;  ///< by code point; -1: not of the alphabet
};

}  // namespace augur
