#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace augur {

std::string StreamDecoder::push(TokenId id) {
  if (tokenizer_.is_special(id) && !show_special_ &&
      std::find(shown_.begin(), shown_.end(), id) == shown_.end()) {
    return {};
  }
  pending_ += tokenizer_.token_bytes(id);
  if (at_start_ && !pending_.empty()) {
    if (pending_.front() == ' ') pending_.erase(0, 1);
    at_start_ = false;
  }

  // Everything is known but a character that the next bytes may still complete.
  std::string out;
  std::size_t position = 0;
  while (position < pending_.size()) {
    const DecodedCharacter c = decode_utf8(pending_, position);
    if (c.truncated) break;
    append_utf8(out, c.code);
    position += c.length;
  }
  pending_.erase(0, position);
  return out;
}

std::string StreamDecoder::flush() {
  std::string out = to_valid_utf8(pending_);
  pending_.clear();
  return out;
}

}  // namespace augur
