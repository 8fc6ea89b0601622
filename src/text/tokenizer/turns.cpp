#include "text/tokenizer/turns.h"

#include <algorithm>
#include <string>

namespace augur {

void keep_messages_in_turns(Tokenizer& tokenizer) {
  const auto message_end = std::find_if(tokenizer.eos.begin(), tokenizer.eos.end(), [&](TokenId id) {
    return id < tokenizer.vocab_size() && tokenizer.token_bytes(id) == "<|end|>";
  });
  if (message_end == tokenizer.eos.end()) return;
  bool returns = false, calls = false;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) continue;
    const std::string text = tokenizer.token_bytes(id);
    returns |= text == "<|return|>";
    calls |= text == "<|call|>";
  }
  if (returns && calls) tokenizer.eos.erase(message_end);
}

}  // namespace augur
