#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer/added_tokens.h"

namespace augur {

/// What tokenizer_config.json says about encoding. Absent fields stay empty.
struct TokenizerConfig {
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<bool> add_bos_token;
  std::optional<bool> add_prefix_space;
  std::optional<bool>
      legacy;  ///< SentencePiece: a dummy prefix behind every special token, not only at the start
  std::vector<AddedToken> added_tokens;  ///< added_tokens_decoder, by id

  /// Error naming the field for one of the wrong type.
  static TokenizerConfig read(const nlohmann::json& config);
};

/// One entry of `added_tokens` / `added_tokens_decoder`, without its id. Error prefixed with `where`.
AddedToken read_added_token(const nlohmann::json& value, const std::string& where);

}  // namespace augur
