#include "text/tokenizer/table.h"

#include <algorithm>

#include "base/error.h"

namespace augur {

std::int64_t token_id_limit(std::size_t tokens) {
  constexpr std::size_t kMaxTokens = 1 << 24;  // published vocabularies end below 2^18
  return static_cast<std::int64_t>(std::min(4 * tokens + 65536, kMaxTokens));
}

std::string TableTokenizer::decode(const std::vector<TokenId>& ids, bool show_special) const {
  std::string out;
  for (const TokenId id : ids) {
    const Entry& token = entry(id);
    if (token.kind == Kind::Special && !show_special) continue;
    out += token.bytes;
  }
  if (strips_leading_space_ && out.starts_with(' ')) out.erase(0, 1);
  return out;
}

void TableTokenizer::set_entry(std::int64_t id, std::string bytes, Kind kind, std::string_view where) {
  if (id < 0 || id >= id_limit_)
    throw Error("{}: token id {} is out of range (0 to {})", where, id, id_limit_ - 1);
  const auto index = static_cast<std::size_t>(id);
  if (index >= table_.size()) table_.resize(index + 1);
  table_[index] = {std::move(bytes), kind};
}

const TableTokenizer::Entry& TableTokenizer::entry(TokenId id) const {
  if (id < 0 || id >= vocab_size())
    throw Error(refused("tokens"), "token id {} is outside the vocabulary (0 to {})", id, vocab_size() - 1);
  return table_[static_cast<std::size_t>(id)];
}

}  // namespace augur
