#include "text/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/unicode.h"

namespace augur {
namespace {

std::size_t previous_character(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

bool word_before(std::string_view text, std::size_t position) {
  return position > 0 && is_word_character(decode_utf8(text, previous_character(text, position)).code);
}

bool word_after(std::string_view text, std::size_t position) {
  return position < text.size() && is_word_character(decode_utf8(text, position).code);
}

}  // namespace

bool AddedToken::is_control() const {
  const auto between = [&](std::string_view begin, std::string_view end) {
    return content.size() > begin.size() + end.size() && content.starts_with(begin) && content.ends_with(end);
  };
  return special || between("<|", "|>") || between("<\xEF\xBD\x9C", "\xEF\xBD\x9C>");
}

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].content.empty()) continue;
    std::int32_t node = 0;
    for (const char c : tokens_[i].content) {
      const auto byte = static_cast<unsigned char>(c);
      std::int32_t next = child(node, byte);
      if (next < 0) {
        next = static_cast<std::int32_t>(nodes_.size());
        nodes_.emplace_back();
        auto& edges = nodes_[static_cast<std::size_t>(node)].next;
        edges.insert(std::lower_bound(edges.begin(), edges.end(), std::pair{byte, std::int32_t{0}}),
                     {byte, next});
      }
      node = next;
    }
    std::int32_t& token = nodes_[static_cast<std::size_t>(node)].token;
    if (token < 0) token = static_cast<std::int32_t>(i);
  }
}

std::int32_t AddedTokenMatcher::child(std::int32_t node, unsigned char byte) const {
  const auto& edges = nodes_[static_cast<std::size_t>(node)].next;
  const auto found = std::lower_bound(edges.begin(), edges.end(), std::pair{byte, std::int32_t{0}});
  return found != edges.end() && found->first == byte ? found->second : -1;
}

const AddedToken* AddedTokenMatcher::longest_at(std::string_view text, std::size_t position,
                                                std::size_t control_end,
                                                std::span<const TokenId> control) const {
  const AddedToken* best = nullptr;
  std::int32_t node = 0;
  for (std::size_t i = position; i < text.size(); ++i) {
    node = child(node, static_cast<unsigned char>(text[i]));
    if (node < 0) break;
    const std::int32_t index = nodes_[static_cast<std::size_t>(node)].token;
    if (index < 0) continue;
    const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
    const bool is_control =
        token.is_control() || std::find(control.begin(), control.end(), token.id) != control.end();
    if (!is_control || i < control_end) best = &token;
  }
  return best;
}

void AddedTokenMatcher::split(std::string_view text, const PlainParts& plain, std::vector<Part>& out) const {
  std::size_t done = 0;
  std::size_t range = 0;  // the first that ends behind the position
  if (!empty()) {
    for (std::size_t position = 0; position < text.size();) {
      while (range < plain.ranges.size() && plain.ranges[range].end <= position) ++range;
      const std::size_t control_end = range < plain.ranges.size() ? plain.ranges[range].begin : text.size();
      const AddedToken* token = longest_at(text, position, control_end, plain.control);
      if (token == nullptr) {
        ++position;
        continue;
      }
      std::size_t begin = position;
      std::size_t end = position + token->content.size();
      position = end;
      if (token->single_word && (word_before(text, begin) || word_after(text, end))) continue;
      while (token->lstrip && begin > done) {
        const std::size_t before = previous_character(text, begin);
        if (before < done || !is_white_space(decode_utf8(text, before).code)) break;
        begin = before;
      }
      while (token->rstrip && end < text.size()) {
        const DecodedCharacter c = decode_utf8(text, end);
        if (!is_white_space(c.code)) break;
        end += c.length;
      }
      if (begin > done) out.push_back({text.substr(done, begin - done), nullptr});
      out.push_back({text.substr(begin, end - begin), token});
      done = position = end;
    }
  }
  if (done < text.size()) out.push_back({text.substr(done), nullptr});
}

}  // namespace augur
