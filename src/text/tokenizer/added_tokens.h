#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "text/marked_text.h"

namespace augur {

/// A token recognised in the text as it is written, before any other processing (<|im_end|>, </s>, ...).
struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = true;       ///< a control token, hidden in generated text
  bool lstrip = false;       ///< swallows white space on its left
  bool rstrip = false;       ///< ... and on its right
  bool single_word = false;  ///< only where no word character is next to it
  bool normalized = false;   ///< looked for in the normalised text, not in the raw one

  /// Whether a client's text must not become it: a special token, or one that is written like one
  /// ("<|...|>"), as some publishers leave theirs unmarked.
  bool is_control() const;
};

/// Parts of a text in which no control token is recognised.
struct PlainParts {
  std::span<const ByteRange> ranges;  ///< in order, apart from each other
  std::span<const TokenId> control;   ///< that are control tokens beside those that are by themselves
};

/// Finds added tokens in a text: leftmost match first, the longest of those that begin at the same place.
/// Immutable, thread-safe; linear in the text times the longest token.
class AddedTokenMatcher {
 public:
  AddedTokenMatcher() = default;
  /// Tokens with empty content never match.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return nodes_.size() < 2; }

  struct Part {
    std::string_view text;
    const AddedToken* token = nullptr;  ///< null: ordinary text
  };
  /// Appends the parts of `text` in order; none is empty. A control token is not found where one of its bytes
  /// lies in a plain range; the white space that a token swallows may.
  void split(std::string_view text, const PlainParts& plain, std::vector<Part>& out) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, std::int32_t>> next;  ///< byte -> node, sorted by byte
    std::int32_t token = -1;                                   ///< index of the token that ends here
  };
  std::int32_t child(std::int32_t node, unsigned char byte) const;
  /// `control_end`: control tokens may reach as far.
  const AddedToken* longest_at(std::string_view text, std::size_t position, std::size_t control_end,
                               std::span<const TokenId> control) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;  ///< a trie; node 0 is the root
};

}  // namespace augur
