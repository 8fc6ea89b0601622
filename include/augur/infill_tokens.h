#pragma once
#include <optional>

#include "augur/sampling_options.h"

namespace augur {
inline namespace abi1 {

/// Tokens for filling in the middle of a text, if the model's file names them.
struct InfillTokens {
  std::optional<TokenId> prefix, suffix, middle;
  std::optional<TokenId> repository;  ///< before a repository's name
  std::optional<TokenId> file;        ///< before a file's name
};

}  // namespace abi1
}  // namespace augur
