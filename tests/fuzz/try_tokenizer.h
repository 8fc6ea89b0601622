#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokenizer.h"

namespace augur::fuzz {

/// Encodes a text, decodes the ids at once and as a stream. Not decoding what encoding gave is a finding.
inline void try_text(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  try {
    ids = tokenizer.encode(text);
  } catch (const Error&) {  // an expression that needs too many steps
    return;
  }
  tokenizer.decode(ids);
  tokenizer.decode(ids, true);
  StreamDecoder stream(tokenizer, true);
  for (const TokenId id : ids) stream.push(id);
  stream.flush();
}

inline void try_tokenizer(const Tokenizer& tokenizer, const std::uint8_t* data, std::size_t size) {
  try_text(tokenizer, "Hello, w\xC3\xB6rld! 123 <s>ab</s>\n\n  it's \xF0\x9F\xA6\x99 \xFF\xE2\x96");
  try_text(tokenizer, {reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 512)});
  for (TokenId id = -1; id <= tokenizer.vocab_size(); id += 1 + tokenizer.vocab_size() / 16) {
    try {
      tokenizer.token_bytes(id);
      tokenizer.is_special(id);
    } catch (const Error&) {
    }
  }
}

}  // namespace augur::fuzz
