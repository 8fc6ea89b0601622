#pragma once
#include <optional>
#include <string>
#include <vector>

#include "augur/engine.h"

namespace augur {

/// Those that the model's file names, and beside them those that have one of the names that published models
/// have for them. None: prefix, suffix or middle is missing, so the model was not made for it.
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
