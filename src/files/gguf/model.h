#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "files/gguf/architectures.h"
#include "files/gguf/gguf.h"
#include "files/gguf/vocabulary.h"
#include "files/weight_store.h"

namespace augur {

/// What this project knows of a file's architecture; nullptr: nothing.
const GgufArchitecture* gguf_architecture_of(const GgufFile& file);

/// Key heads of the layers that have any, attention.head_count_kv; nothing where a file does not say. Error
/// where layers differ.
std::optional<std::int64_t> gguf_kv_heads(const GgufFile& file);

/// Layers of a file's model. block_count also counts those behind them that only draft. Error where these are
/// all.
std::int64_t gguf_layers(const GgufFile& file);

/// Hugging Face's name of a tensor of an architecture; other names are returned as they are. `layers`: the
/// model's, behind which are those that draft ("mtp."), where the architecture has such.
std::string hugging_face_name(const GgufArchitecture& architecture, std::string_view gguf_name,
                              std::int64_t layers = INT64_MAX);
/// The reverse; empty for a name that GGUF has none for.
std::string gguf_tensor_name(const GgufArchitecture& architecture, std::string_view hugging_face_name,
                             std::int64_t layers = INT64_MAX);

/// GGUF files of this architecture hold a draft head: its config.json as text under kHeadConfigKey, and its
/// tensors under their own names. No other program reads them.
inline constexpr std::string_view kHeadArchitecture = "augur-head";
inline constexpr const char* kHeadConfigKey = "augur.config";

/// A GGUF file's tensors under Hugging Face's names. llama.cpp's q/k row order, and what it adds to norms,
/// are marked, to be undone by read_rows(). `rope_freqs.weight` is left out: gguf_config() has what it says.
/// Error for an architecture, element type or layout that this project does not read.
std::unique_ptr<WeightStore> open_gguf_weights(std::shared_ptr<const GgufFile> file);

/// Hugging Face's config.json, made from the metadata (and, for the rotary scaling and the tied head, from
/// the tensors). Architectures that this project does not run give what any architecture has, so that their
/// vocabularies can be used.
///
/// Llama 3.1's frequency factors, which llama.cpp stores as a tensor, become rope_scaling of type "llama3"
/// where its law explains them, and otherwise {"rope_type": "frequency_factors", "factors": [head_dim / 2
/// divisors of the inverse frequencies]}.
nlohmann::json gguf_config(const GgufFile& file);

/// What YaRN multiplies cos and sin by in a GGUF file whose rope.scaling.attn_factor is 1, its default: that
/// key is a factor to this, where Hugging Face's attention_factor replaces it. factor >= 1.
double gguf_yarn_magnitude(double factor);

/// The ids that are never drawn.
inline constexpr std::string_view kSuppressedKey = "tokenizer.ggml.suppress_tokens";

/// Hugging Face's generation_config.json: the ids of the special tokens, and suppress_tokens.
nlohmann::json gguf_generation_config(const GgufFile& file);

/// The vocabulary, if there is one; Error when its parts do not fit together.
std::optional<GgufVocabulary> gguf_vocabulary(const GgufFile& file);

}  // namespace augur
