#include "text/tokenizer/bpe_byte_level.h"

#include "base/utf8.h"

namespace augur {

std::array<char32_t, 256> byte_level_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
    alphabet[byte] = printable ? byte : next++;
  }
  return alphabet;
}

ByteLevelDecoder::ByteLevelDecoder() {
  byte_of_.fill(-1);
  const auto alphabet = byte_level_alphabet();
  for (std::size_t byte = 0; byte < 256; ++byte) byte_of_[alphabet[byte]] = static_cast<int>(byte);
}

std::optional<std::string> ByteLevelDecoder::bytes(std::string_view token) const {
  std::string out;
  for (std::size_t position = 0; position < token.size();) {
    const DecodedCharacter c = decode_utf8(token, position);
    if (!c.valid || c.code >= byte_of_.size() || byte_of_[c.code] < 0) return std::nullopt;
    out.push_back(static_cast<char>(byte_of_[c.code]));
    position += c.length;
  }
  return out;
}

}  // namespace augur
