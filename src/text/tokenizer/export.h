#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text/tokenizer/loaders.h"

namespace augur {

/// Hugging Face's tokenizer.json with the vocabulary of a GGUF file: BPE with its merges ("gpt2", "gemma4"),
/// or with such as follow from the SentencePiece scores ("llama"). `add_bos`: whether encoding puts BOS
/// first. Error for another model or pre-tokeniser, or tokens that JSON cannot hold.
nlohmann::ordered_json export_tokenizer_json(const GgufVocabulary& vocabulary, bool add_bos);

/// The names of the special tokens for tokenizer_config.json.
nlohmann::ordered_json export_tokenizer_config(const GgufVocabulary& vocabulary, bool add_bos);

}  // namespace augur
