#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe_merges.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pretokenizer.h"
#include "text/tokenizer/table.h"

namespace augur {

/// What a file format has to say about a byte-pair encoding. Token texts are as the file writes them.
struct BpeDefinition {
  struct Token {
    std::string text;
    std::int64_t id = 0;
    bool normal = true;  ///< false: never the result of ordinary text (control and byte tokens)
  };
  struct Merge {
    std::string_view left, right;  ///< must outlive the constructor
    std::uint32_t rank = 0;        ///< lower first; equal ranks: leftmost first
  };
  std::string where;  ///< file, for messages
  std::vector<Token> tokens;
  std::vector<Merge> merges;
  std::vector<AddedToken> added_tokens;
  /// Tokens recognised in the normalised text, in which their content is written, and never merged.
  std::vector<AddedToken> frozen_tokens;

  bool byte_level = false;      ///< tokens are written in GPT-2's byte alphabet
  bool byte_fallback = false;   ///< characters without a token become <0xXX> tokens
  bool decodes_bytes = false;   ///< <0xXX> tokens stand for bytes in decoded text
  std::string space_character;  ///< stands for a space inside tokens; empty: none does
  bool strips_leading_space = false;
  bool ignore_merges = false;  ///< a word that is a token needs no merging
  bool fuse_unknown = false;   ///< consecutive unknown characters become one unknown token
  std::optional<TokenId> unknown;
  /// SentencePiece merges characters that have no token of their own when the result has one.
  bool merges_unknown_characters = false;

  Normalizer normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;  ///< null: the whole text is one word
};

/// Byte-pair encoding over bytes (GPT-2, Llama 3, Qwen, SmolLM) or over characters (SentencePiece's).
/// A byte or character that the vocabulary cannot express becomes the unknown token, or, where there is none,
/// is left out, as the reference implementations do.
class BpeTokenizer : public TableTokenizer {
 public:
  /// Error, prefixed with `where`, when tokens and merges do not fit together.
  explicit BpeTokenizer(BpeDefinition definition);

  using Tokenizer::encode;
  std::vector<TokenId> encode(std::string_view text, std::span<const ByteRange> plain) const override;

  /// The id of a token as the file writes it, added tokens included.
  std::optional<TokenId> find(std::string_view text) const;

 private:
  struct StringHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using TokenMap = std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>>;

  void add_tokens(const BpeDefinition& definition);
  void add_added_tokens(const BpeDefinition& definition);
  void add_merges(const BpeDefinition& definition);
  std::string running_text(const std::string& token, const BpeDefinition& definition) const;
  void encode_stretch(std::string_view text, bool starts_text, std::vector<TokenId>& out) const;
  void encode_word(std::string_view word, std::vector<TokenId>& out) const;
  void append_characters(std::string_view word, std::vector<TokenId>& out) const;
  bool append_bytes(std::string_view bytes, std::vector<TokenId>& out) const;
  void resolve_characters(std::vector<TokenId>& symbols) const;

  std::string where_;
  TokenMap ids_;    ///< by the text in the file
  TokenMap words_;  ///< what a word or a character of ordinary text can become without merging
  BpeMerges merges_;
  std::array<TokenId, 256> byte_tokens_;  ///< -1: none
  std::vector<std::string> characters_;   ///< without a token, yet mergeable: ids from vocab_size() up
  AddedTokenMatcher raw_tokens_;
  AddedTokenMatcher normalized_tokens_;
  Normalizer normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  bool byte_level_;
  bool byte_fallback_;
  bool ignore_merges_;
  bool fuse_unknown_;
  std::optional<TokenId> unknown_;
};

}  // namespace augur
