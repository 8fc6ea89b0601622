#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace augur::cli {

/// One line of a prompt file: {"id", "category", "turns": ["first", ...]}. Only the first turn is used.
struct PromptLine {
  nlohmann::json id;  ///< a string or a number, given back as it was
  std::string category;
  std::string text;
};

struct PromptFile {
  std::vector<PromptLine> prompts;
  std::string error;  ///< why reading stopped early, naming file and line; empty if it did not
};

/// Reads at most `limit` prompts (< 0: all). Blank lines are skipped. A malformed line ends the reading: the
/// prompts before it and the error are returned, so that work on them is not lost. Throws Error only when the
/// file cannot be read at all.
PromptFile read_prompts(const std::filesystem::path& path, int limit);

}  // namespace augur::cli
