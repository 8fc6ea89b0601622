#pragma once
#include <filesystem>

#include "text/tokenizer/loaders.h"

namespace augur {

/// A folder's tokenizer as GGUF's metadata would have it, up to the special ids: from tokenizer.json, or else
/// tokenizer.model, with what tokenizer_config.json adds. `tokenizer` is what the folder loads as, which the
/// result is checked against. Error (naming the file) for a tokenizer that GGUF has no words for, such as one
/// that cuts text in a way that no value of tokenizer.ggml.pre stands for.
GgufVocabulary gguf_vocabulary_of_folder(const std::filesystem::path& folder, const Tokenizer& tokenizer);

}  // namespace augur
