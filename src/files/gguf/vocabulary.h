#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace augur {

/// A GGUF file's `tokenizer.ggml.*` metadata. The reader guarantees that scores and token_types are empty or
/// as long as tokens, and that the ids lie in the vocabulary.
struct GgufVocabulary {
  std::string file;                 ///< for messages
  std::string model;                ///< tokenizer.ggml.model: "gpt2", "llama", ...
  std::string pre;                  ///< tokenizer.ggml.pre: "llama-bpe", "qwen2", ...; may be empty
  std::vector<std::string> tokens;  ///< any bytes, by id
  std::vector<float> scores;        ///< SentencePiece scores, by id
  std::vector<std::int32_t>
      token_types;  ///< by id: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;  ///< "left right", best first
  std::optional<std::int64_t> bos, eos, eot, unk, pad;
  std::optional<std::int64_t> fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_file;
  std::optional<bool> add_bos, add_space_prefix;
};

}  // namespace augur
