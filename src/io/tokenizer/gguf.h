#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "io/tokenizer/normalizer.h"
#include "io/tokenizer/pretokenizer.h"

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

/// The first with this expression that treats digits and normalises so; null where there is none.
const GgufPreTokenizerRow* find_gguf_pre_tokenizer_by_pattern(std::string_view pattern, bool single_digits,
                                                              bool nfc);

/// The same, ready for use.
struct GgufPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  Normalizer normalizer;
  bool ignore_merges = false;
  bool add_bos = false;
};

/// Error, naming file and name, for one that this project does not know.
GgufPreTokenizer gguf_pre_tokenizer(const std::string& name, const std::string& file);

}  // namespace augur
