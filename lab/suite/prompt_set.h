#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "text/prompt_file.h"

namespace augur {

/// One question of a suite: a conversation whose user turns are given and whose answers are generated.
struct SuitePrompt {
  std::string id;
  std::string category;  ///< empty: the file names none
  std::vector<std::string> turns;
};

/// What is measured together, and has a table of its own.
struct PromptSet {
  std::string name;  ///< the file's, without its ending
  std::vector<SuitePrompt> prompts;
};

/// What methods are warmed up with. It is in no suite: a method that learns must not have seen what is
/// measured.
inline constexpr const char* kWarmUpText =
    "Explain in a few sentences how bread is baked, and why the dough rests.";

/// The prompts of a file in any of the forms of read_prompt_file(); at most `limit` (< 0: all). Error naming
/// file and line for what that refuses, for two prompts of one id, and for a file without prompts.
PromptSet read_prompt_set(const std::filesystem::path& path, int limit = -1);

/// The small suite that is part of the program (prompts/quick.jsonl, written for this project): two prompts,
/// one of them in two turns, of each of six kinds of work. With a `limit`, of each kind the first one before
/// any second one.
PromptSet bundled_prompts(int limit = -1);

/// The prompts of a suite by their category: each with its prompts, as a set that has the suite's name. Empty
/// where there is one category at most.
std::vector<std::pair<std::string, PromptSet>> by_category(const PromptSet& set);

}  // namespace augur
