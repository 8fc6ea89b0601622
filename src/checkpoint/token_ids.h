#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "text/tokenizer.h"

namespace augur {

/// Ids of a model's configuration, which `path` names in errors, lie below the larger of the two sizes: an
/// embedding may have more rows than there are tokens.
std::int64_t id_limit(const nlohmann::json& config, const Tokenizer& tokenizer,
                      const std::filesystem::path& path);

/// The ids under `key`: none, one, or a list. Error unless each is below `limit`.
std::vector<TokenId> ids_of(const nlohmann::json& config, const char* key, std::int64_t limit,
                            const std::filesystem::path& path);

/// What generation_config.json, or a GGUF file, has in suppress_tokens: tokens that are never to be drawn.
std::vector<TokenId> suppressed_tokens(const Checkpoint& checkpoint, const Tokenizer& tokenizer);

}  // namespace augur
