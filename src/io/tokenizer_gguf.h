#pragma once
#include <memory>
#include <string>

#include "io/pretokenizer.h"
#include "io/tokenizer_normalizer.h"

namespace augur {

/// What a name in `tokenizer.ggml.pre` stands for.
struct GgufPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  Normalizer normalizer;       ///< the original tokenizer's, which GGUF files do not hold
  bool ignore_merges = false;  ///< a word that is a token needs no merging
  bool add_bos = false;        ///< where the file does not say
};

/// Error, naming file and name, for one that this project does not know.
GgufPreTokenizer gguf_pre_tokenizer(const std::string& name, const std::string& file);

}  // namespace augur
