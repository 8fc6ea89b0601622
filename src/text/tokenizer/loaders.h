#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "files/gguf/vocabulary.h"
#include "text/tokenizer.h"

namespace augur {

/// Hugging Face's tokenizer.json. `tokenizer_config` is the parsed tokenizer_config.json, or an empty object.
/// Sets bos, eos and add_bos as far as these two files tell. Error (naming the file) for malformed content
/// and for components that this project does not implement.
std::unique_ptr<Tokenizer> load_tokenizer_json(const std::filesystem::path& tokenizer_json,
                                               const nlohmann::json& tokenizer_config);

/// SentencePiece's tokenizer.model, with the same rules.
std::unique_ptr<Tokenizer> load_sentencepiece(const std::filesystem::path& tokenizer_model,
                                              const nlohmann::json& tokenizer_config);

std::unique_ptr<Tokenizer> load_gguf_tokenizer(const GgufVocabulary& vocabulary);

}  // namespace augur
