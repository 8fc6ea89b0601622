#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pretokenizer.h"

namespace augur {

/// How a byte-level BPE cuts text before merging; by its name in `tokenizer.ggml.pre`.
struct GgufPreTokenizerRow {
  std::string_view name;
  std::string_view pattern;
  bool single_digits = false;  ///< digits are split apart first
  bool ignore_merges = false;  ///< a word that is a token needs no merging
  bool nfc = false;            ///< the original tokenizer normalises, which GGUF files do not say
  bool add_bos = false;        ///< where the file does not say
};

/// Null for a name that this project does not know.
const GgufPreTokenizerRow* find_gguf_pre_tokenizer(std::string_view name);

/// The first that cuts and normalises as `like` does (its name and add_bos do not matter), and treats words
/// that are tokens as it does if there is such a one; null where none cuts so.
const GgufPreTokenizerRow* find_gguf_pre_tokenizer(const GgufPreTokenizerRow& like);

/// The same, ready for use.
struct GgufPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  Normalizer normalizer;
  bool ignore_merges = false;
  bool add_bos = false;
};

/// Error, naming file, name and those that are known, for another.
GgufPreTokenizer gguf_pre_tokenizer(const std::string& name, const std::string& file);

}  // namespace augur
