#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "files/weight_store.h"

namespace augur {

/// Multimodal models have their text model inside (`text_config`; Mistral Small 3 and Ministral 3:
/// "mistral3", Gemma 3: "gemma3", Qwen3.5: "qwen3_5" and "qwen3_5_moe"). True: `config` is that of one whose
/// text model can be had alone.
bool has_text_part(const nlohmann::json& config);

/// The text model's configuration; what it leaves to the whole (end tokens, tied embeddings) is taken from
/// there. `config` itself where it is a text model's. Error naming `file` and the field for what is no
/// configuration.
nlohmann::json text_part(const nlohmann::json& config, const std::string& file);

/// Of such a model's tensors keeps the text model's, under the names that they would have alone.
void keep_text_part(WeightStore& store);

}  // namespace augur
