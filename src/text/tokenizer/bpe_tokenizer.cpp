#include "text/tokenizer/bpe_tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/io_thread.h"
#include "base/utf8.h"
#include "text/tokenizer/bpe_byte_level.h"

namespace augur {
namespace {

// A long text repeats its words, so that looking one up beats merging it again.
constexpr std::size_t kCacheFrom = 64;      // pieces; shorter texts are not worth the map
constexpr std::size_t kLongestCached = 64;  // bytes
// Every place of a text may begin all but the last byte of an added token.
constexpr std::size_t kLongestAdded = 512;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// "<0x0A>" -> 10; -1 for anything else.
int byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

/// Tokens that ordinary text never becomes: where they are wanted, they are found before.
std::unordered_set<TokenId> control_ids(const BpeDefinition& definition) {
  std::unordered_set<TokenId> ids;
  for (const AddedToken& token : definition.added_tokens)
    if (token.is_control() && !token.single_word) ids.insert(token.id);
  return ids;
}

bool single_character(std::string_view text) {
  return !text.empty() && decode_utf8(text, 0).length == text.size();
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeDefinition definition)
    : where_(std::move(definition.where)),
      byte_level_(definition.byte_level),
      byte_fallback_(definition.byte_fallback),
      ignore_merges_(definition.ignore_merges),
      fuse_unknown_(definition.fuse_unknown),
      unknown_(definition.unknown) {
  strips_leading_space_ = definition.strips_leading_space;
  id_limit_ = token_id_limit(definition.tokens.size() + definition.added_tokens.size());
  byte_tokens_.fill(-1);
  normalizer_ = std::move(definition.normalizer);
  pre_tokenizer_ = std::move(definition.pre_tokenizer);
  add_tokens(definition);
  add_added_tokens(definition);
  add_merges(definition);
}

std::string BpeTokenizer::running_text(const std::string& token, const BpeDefinition& definition) const {
  if (definition.decodes_bytes)
    if (const int byte = byte_token(token); byte >= 0) return std::string(1, static_cast<char>(byte));
  if (definition.space_character.empty()) return token;
  return replace_all(token, definition.space_character, " ");
}

void BpeTokenizer::add_tokens(const BpeDefinition& definition) {
  const ByteLevelDecoder alphabet;
  const std::unordered_set<TokenId> control = control_ids(definition);
  ids_.reserve(definition.tokens.size());
  for (const BpeDefinition::Token& token : definition.tokens) {
    const auto bytes = byte_level_ ? alphabet.bytes(token.text) : std::nullopt;
    set_entry(token.id, bytes ? *bytes : running_text(token.text, definition), Kind::Normal, where_);
    const auto id = static_cast<TokenId>(token.id);
    ids_.emplace(token.text, id);  // of equal texts the first counts
    if (byte_fallback_)
      if (const int byte = byte_token(token.text); byte >= 0)
        byte_tokens_[static_cast<std::size_t>(byte)] = id;
    if (!token.normal || control.contains(id)) continue;
    if (byte_level_) {
      if (bytes && bytes->size() == 1) byte_tokens_[static_cast<unsigned char>((*bytes)[0])] = id;
      if (bytes && ignore_merges_) words_.emplace(*bytes, id);
    } else if (ignore_merges_ || single_character(token.text)) {
      words_.emplace(token.text, id);
    }
  }
}

void BpeTokenizer::add_added_tokens(const BpeDefinition& definition) {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized = definition.frozen_tokens;
  for (AddedToken token : definition.added_tokens) {
    if (token.content.size() > kLongestAdded) {
      throw Error("{}: the added token {} has {} bytes; at most {} are looked for", where_, token.id,
                  token.content.size(), kLongestAdded);
    }
    const bool plain = !token.special && !byte_level_;
    set_entry(token.id, plain ? running_text(token.content, definition) : token.content,
              token.special ? Kind::Special : Kind::Normal, where_);
    ids_.emplace(token.content, token.id);
    if (token.normalized && !normalizer_.identity()) {
      token.content = normalizer_.apply(token.content);
      normalized.push_back(std::move(token));
    } else {
      raw.push_back(std::move(token));
    }
  }
  raw_tokens_ = AddedTokenMatcher(std::move(raw));
  normalized_tokens_ = AddedTokenMatcher(std::move(normalized));
}

void BpeTokenizer::add_merges(const BpeDefinition& definition) {
  merges_ = BpeMerges(definition.merges.size());
  TokenMap loose;  // characters_ by text
  const auto symbol = [&](std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    if (definition.merges_unknown_characters && single_character(text)) {
      const auto [entry, added] =
          loose.emplace(text, vocab_size() + static_cast<std::int32_t>(characters_.size()));
      if (added) characters_.emplace_back(text);
      return entry->second;
    }
    throw Error("{}: a merge names \"{}\", which is not in the vocabulary", where_, to_valid_utf8(text));
  };
  const std::unordered_set<TokenId> control = control_ids(definition);
  std::string merged;
  for (const BpeDefinition::Merge& merge : definition.merges) {
    const TokenId left = symbol(merge.left);
    const TokenId right = symbol(merge.right);
    merged.assign(merge.left).append(merge.right);
    const auto result = ids_.find(merged);
    if (result == ids_.end())
      throw Error("{}: the merge of \"{}\" and \"{}\" is not in the vocabulary", where_,
                  to_valid_utf8(merge.left), to_valid_utf8(merge.right));
    if (!control.contains(result->second)) merges_.add(left, right, merge.rank, result->second);
  }
  for (auto& [text, id] : loose) words_.emplace(text, id);
}

std::optional<TokenId> BpeTokenizer::find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

namespace {

/// '\1' for each byte of text.substr(begin, size) that is in a range, '\0' for the others.
std::string marks_of(std::size_t begin, std::size_t size, std::span<const ByteRange> ranges) {
  std::string marks(size, '\0');
  auto range = std::lower_bound(ranges.begin(), ranges.end(), begin,
                                [](const ByteRange& r, std::size_t at) { return r.end <= at; });
  for (; range != ranges.end() && range->begin < begin + size; ++range) {
    const std::size_t first = std::max(range->begin, begin) - begin;
    const std::size_t last = std::min(range->end, begin + size) - begin;
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(first),
              marks.begin() + static_cast<std::ptrdiff_t>(last), '\1');
  }
  return marks;
}

std::vector<ByteRange> ranges_of(const std::string& marks) {
  std::vector<ByteRange> ranges;
  for (std::size_t begin = 0; (begin = marks.find('\1', begin)) != std::string::npos;) {
    const std::size_t end = std::min(marks.find('\0', begin), marks.size());
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

}  // namespace

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, std::span<const ByteRange> plain) const {
  IoThread::must_not_be_current();
  std::vector<TokenId> out;
  std::vector<AddedTokenMatcher::Part> parts;
  std::vector<AddedTokenMatcher::Part> inner;
  raw_tokens_.split(text, {plain, eos}, parts);
  bool starts_text = true;
  for (const auto& part : parts) {
    if (part.token != nullptr) {
      out.push_back(part.token->id);
    } else if (normalizer_.identity() && normalized_tokens_.empty()) {
      encode_stretch(part.text, starts_text, out);
    } else {
      std::string normalized;
      std::vector<ByteRange> ranges;
      if (plain.empty() || normalized_tokens_.empty()) {
        normalized = normalizer_.apply(part.text, starts_text);
      } else {
        const auto begin = static_cast<std::size_t>(part.text.data() - text.data());
        std::string marks = marks_of(begin, part.text.size(), plain);
        normalized = normalizer_.apply(part.text, starts_text, marks);
        ranges = ranges_of(marks);
      }
      inner.clear();
      normalized_tokens_.split(normalized, {ranges, eos}, inner);
      for (const auto& stretch : inner) {
        if (stretch.token != nullptr)
          out.push_back(stretch.token->id);
        else
          encode_stretch(stretch.text, starts_text, out);
        starts_text = false;
      }
    }
    starts_text = false;
  }
  return out;
}

void BpeTokenizer::encode_stretch(std::string_view text, bool starts_text, std::vector<TokenId>& out) const {
  if (!pre_tokenizer_) return encode_word(text, out);
  PieceList list;
  list.pieces.push_back(text);
  list.starts_text = starts_text;
  pre_tokenizer_->apply(list);
  out.reserve(out.size() + list.pieces.size());
  if (list.pieces.size() < kCacheFrom) {
    for (const std::string_view piece : list.pieces) encode_word(piece, out);
    return;
  }
  struct Range {
    std::size_t begin, count;  // in `out`
  };
  std::unordered_map<std::string_view, Range> cache;
  for (const std::string_view piece : list.pieces) {
    if (piece.size() > kLongestCached) {
      encode_word(piece, out);
      continue;
    }
    const auto [entry, added] = cache.try_emplace(piece, Range{out.size(), 0});
    if (added) {
      encode_word(piece, out);
      entry->second.count = out.size() - entry->second.begin;
    } else {
      for (std::size_t i = 0; i < entry->second.count; ++i) out.push_back(out[entry->second.begin + i]);
    }
  }
}

void BpeTokenizer::encode_word(std::string_view word, std::vector<TokenId>& out) const {
  if (word.empty()) return;
  if (ignore_merges_) {
    if (const auto found = words_.find(word); found != words_.end()) {
      out.push_back(found->second);
      return;
    }
  }
  std::vector<TokenId> symbols;
  symbols.reserve(word.size());
  if (byte_level_) {
    for (const char c : word) {
      const TokenId id = byte_tokens_[static_cast<unsigned char>(c)];
      if (id >= 0)
        symbols.push_back(id);
      else if (unknown_)
        symbols.push_back(*unknown_);
    }
  } else {
    append_characters(word, symbols);
  }
  merges_.apply(symbols);
  if (!characters_.empty()) resolve_characters(symbols);
  out.insert(out.end(), symbols.begin(), symbols.end());
}

void BpeTokenizer::append_characters(std::string_view word, std::vector<TokenId>& out) const {
  bool after_unknown = false;
  for (std::size_t position = 0; position < word.size();) {
    const std::string_view character = word.substr(position, decode_utf8(word, position).length);
    position += character.size();
    if (const auto found = words_.find(character); found != words_.end()) {
      out.push_back(found->second);
      after_unknown = false;
    } else if (append_bytes(character, out)) {
      after_unknown = false;
    } else if (unknown_ && !(after_unknown && fuse_unknown_)) {
      out.push_back(*unknown_);
      after_unknown = true;
    }
  }
}

// All or nothing: a character is either all bytes or unknown.
bool BpeTokenizer::append_bytes(std::string_view bytes, std::vector<TokenId>& out) const {
  if (!byte_fallback_) return false;
  const auto token = [&](char c) { return byte_tokens_[static_cast<unsigned char>(c)]; };
  if (std::any_of(bytes.begin(), bytes.end(), [&](char c) { return token(c) < 0; })) return false;
  for (const char c : bytes) out.push_back(token(c));
  return true;
}

void BpeTokenizer::resolve_characters(std::vector<TokenId>& symbols) const {
  if (std::none_of(symbols.begin(), symbols.end(), [&](TokenId id) { return id >= vocab_size(); })) return;
  std::vector<TokenId> out;
  for (const TokenId id : symbols) {
    if (id < vocab_size())
      out.push_back(id);
    else if (!append_bytes(characters_[static_cast<std::size_t>(id - vocab_size())], out) && unknown_ &&
             !(fuse_unknown_ && !out.empty() && out.back() == *unknown_))
      out.push_back(*unknown_);
  }
  symbols = std::move(out);
}

}  // namespace augur
