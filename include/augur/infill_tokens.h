#pragma once
#include <optional>

#include "augur/sampling_options.h"

namespace augur {

/// Tokens for writing what is missing in the middle of a text, as far as the model's file names them.
struct InfillTokens {
  std::optional<TokenId> prefix, suffix, middle;
  std::optional<TokenId> repository;  ///< before a repository's name
  std::optional<TokenId> file;        ///< before a file's
};

}  // namespace augur
