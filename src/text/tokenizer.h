#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/infill_tokens.h"
#include "base/types.h"
#include "text/marked_text.h"

namespace augur {

/// Text <-> token ids. Immutable, thread-safe. Own code: Hugging Face's library is Rust, SentencePiece's
/// reads its own files only, and neither reads a GGUF file's vocabulary.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Special tokens written in the text are recognised; none are added (BOS is the caller's, see add_bos).
  /// Any byte string is accepted.
  std::vector<TokenId> encode(std::string_view text) const { return encode(text, {}); }
  /// The same, but what has a byte in one of the `plain` ranges (in order, apart from each other) is never a
  /// control token. All else is as if there were no ranges: where the text holds no control tokens there, the
  /// ids are the same.
  virtual std::vector<TokenId> encode(std::string_view text, std::span<const ByteRange> plain) const = 0;
  /// The bytes a token stands for in running text. Special tokens give their text. An id of a gap in the
  /// vocabulary stands for none, and is not special. Error for an id outside the vocabulary.
  virtual std::string token_bytes(TokenId id) const = 0;
  /// True for control tokens (BOS, EOS, <|im_end|>, ...), which generated text does not show.
  virtual bool is_special(TokenId id) const = 0;
  virtual std::int32_t vocab_size() const = 0;
  /// Whole text of a sequence; special tokens are left out unless asked for. SentencePiece drops the one
  /// leading space it added.
  virtual std::string decode(const std::vector<TokenId>& ids, bool show_special = false) const = 0;
  /// True when decoding drops one leading space at the start of a text (SentencePiece's dummy prefix).
  virtual bool strips_leading_space() const { return false; }

  std::optional<TokenId> bos;
  std::vector<TokenId> eos;  ///< every id that ends a generation
  InfillTokens infill;
  bool add_bos = false;  ///< whether the model expects BOS before a prompt (tokenizer configuration)
};

/// Turns a stream of tokens into text, never emitting half a UTF-8 character.
class StreamDecoder {
 public:
  /// `shown`: special tokens that have text even where the others have none.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool show_special = false,
                         std::vector<TokenId> shown = {})
      : tokenizer_(tokenizer),
        show_special_(show_special),
        shown_(std::move(shown)),
        at_start_(tokenizer.strips_leading_space()) {}
  /// Complete characters that are now known.
  std::string push(TokenId id);
  /// What is left at the end; incomplete bytes become U+FFFD.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  bool show_special_;
  std::vector<TokenId> shown_;
  bool at_start_;
  std::string pending_;
};

}  // namespace augur
