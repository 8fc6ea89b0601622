#pragma once
#include "text/tokenizer/loaders.h"

namespace augur {

/// Error, naming the file and the token or text, where the tokenizer that a reader makes of `vocabulary`
/// differs from `original`: in a token's bytes, in which tokens are special, or in the ids of probe texts.
/// These are every token's own text, every added token between words, and some that tokenizers are known to
/// differ about.
void check_gguf_vocabulary(const GgufVocabulary& vocabulary, const Tokenizer& original);

}  // namespace augur
