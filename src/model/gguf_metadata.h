#pragma once
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "files/gguf/architectures.h"
#include "files/gguf/writer.h"
#include "model/config.h"

namespace augur {

/// What a folder's model is called in GGUF, and how it differs there.
const GgufArchitecture& gguf_architecture_of(const ModelConfig& config);

/// The metadata of a folder's model: shapes, rotation, tokenizer, chat template. Error for what GGUF cannot
/// say (dynamic rotary scaling; a scaled context that a sliding window cuts short).
GgufMetadata gguf_metadata(const Checkpoint& checkpoint, const ModelConfig& config);

/// The divisors of the inverse frequencies that such a file has as tensors, by name: rope_freqs.weight, or
/// LongRoPE's two.
std::vector<std::pair<std::string, std::vector<float>>> gguf_rope_factors(const ModelConfig& config);

}  // namespace augur
