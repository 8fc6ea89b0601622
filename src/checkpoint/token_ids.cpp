#include "checkpoint/token_ids.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {

namespace fs = std::filesystem;

std::int64_t id_limit(const nlohmann::json& config, const Tokenizer& tokenizer, const fs::path& path) {
  std::int64_t limit = tokenizer.vocab_size();
  if (const auto it = config.find("vocab_size"); it != config.end()) {
    if (!it->is_number_unsigned() || it->get<std::uint64_t>() > INT32_MAX) {
      throw Error("{}: vocab_size: expected a positive integer", path.string());
    }
    limit = std::max(limit, it->get<std::int64_t>());
  }
  return limit;
}

std::vector<TokenId> ids_of(const nlohmann::json& config, const char* key, std::int64_t limit,
                            const fs::path& path) {
  std::vector<TokenId> result;
  const auto it = config.find(key);
  if (it == config.end() || it->is_null()) return result;
  const auto add = [&](const nlohmann::json& value) {
    if (!value.is_number_integer()) {
      throw Error("{}: {}: expected an id, found {}", path.string(), key, value.type_name());
    }
    const bool fits =
        value.is_number_unsigned() && value.get<std::uint64_t>() < static_cast<std::uint64_t>(limit);
    if (!fits) {
      throw Error("{}: {}: id {} is outside the vocabulary of {}", path.string(), key, value.dump(), limit);
    }
    result.push_back(static_cast<TokenId>(value.get<std::int64_t>()));
  };
  if (it->is_array()) {
    for (const auto& value : *it) add(value);
  } else {
    add(*it);
  }
  return result;
}

std::vector<TokenId> suppressed_tokens(const Checkpoint& checkpoint, const Tokenizer& tokenizer) {
  const std::int64_t limit = id_limit(checkpoint.config(), tokenizer, checkpoint.path());
  return ids_of(checkpoint.generation_config(), "suppress_tokens", limit, checkpoint.path());
}

}  // namespace augur
