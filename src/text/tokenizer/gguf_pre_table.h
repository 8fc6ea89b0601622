#pragma once
#include <array>
#include <span>
#include <string_view>

namespace augur {

/// The expressions that a byte-pair encoding of a GGUF file cuts text with, and what else its name in
/// tokenizer.ggml.pre says. Names and expressions are llama.cpp's; where it spells an expression otherwise
/// than the tokenizer.json of the models that bear the name, that one's counts.
struct GgufPreTokenizerRow {
  /// How tokens are written.
  enum class Letters : unsigned char {
    Bytes,     ///< in GPT-2's byte alphabet
    Escaped,   ///< as they are, spaces as U+2581, and bytes that have no token as <0xXX>
    AsTheyAre  ///< the same, spaces as spaces
  };
  std::string_view names;                   ///< separated by spaces; the first is the one that is written
  std::span<const std::string_view> steps;  ///< each cuts out its matches in the pieces of the one before
  bool ignore_merges = false;               ///< a word that is a token needs no merging
  bool nfc = false;      ///< the original tokenizer normalises, which GGUF files do not say
  bool add_bos = false;  ///< where the file does not say
  Letters letters = Letters::Bytes;
};

/// All rows, the usual ones first.
std::span<const GgufPreTokenizerRow> gguf_pre_tokenizers();

}  // namespace augur
