#pragma once
#include <optional>
#include <string>
#include <vector>

#include "augur/engine.h"

namespace augur {

/// A vocabulary's tokens for writing what is missing in the middle of a text.
struct InfillTokens {
  TokenId prefix = -1;
  TokenId suffix = -1;
  TokenId middle = -1;
  std::optional<TokenId> repository;  ///< before a repository's name
  std::optional<TokenId> file;        ///< before a file's
};

/// Found by the names that published models have for them; none: the model was not made for it.
std::optional<InfillTokens> infill_tokens(const Engine& engine);

struct InfillText {
  struct File {
    std::string name;
    std::string text;
  };
  std::string prefix;
  std::string suffix;
  std::string middle;       ///< how what is missing begins
  std::vector<File> extra;  ///< other files, for context
};

/// As llama.cpp's server has it: other files, prefix, suffix, and the beginning of the middle.
std::vector<TokenId> infill_prompt(const Engine& engine, const InfillTokens& tokens, const InfillText& text);

}  // namespace augur
