#pragma once
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace augur {

/// One question of a suite: a conversation whose user turns are given and whose answers are generated.
struct SuitePrompt {
  std::string id;
  std::string category;  ///< empty: the file names none
  std::vector<std::string> turns;
};

/// What methods are warmed up with. It is in no suite: a method that learns must not have seen what is
/// measured.
inline constexpr const char* kWarmUpText =
    "Explain in a few sentences how bread is baked, and why the dough rests.";

struct PromptSet {
  std::string name;  ///< the file's, without its ending
  std::vector<SuitePrompt> prompts;
};

/// Reads a file of prompts, one JSON object a line, in any of the forms in use:
///   {"id", "category", "turns": [TEXT...]}            Augur's
///   {"question_id", "category", "turns": [TEXT...]}    Spec-Bench, EAGLE, MT-bench (further keys are left)
///   {"question_id", "category", "turns"/"messages": [{"role", "content"}...]}   SPEED-Bench, prepared
///   {"prompt": TEXT}                                   custom sets of serving benchmarks
/// Roles other than "user" are refused: answers come from the model under test. At most `limit` prompts
/// (< 0: all), from the beginning. Error naming file and line for anything else, for two prompts of one id,
/// and for the texts that SPEED-Bench puts where the data have yet to be fetched.
PromptSet read_prompt_set(const std::filesystem::path& path, int limit = -1);

/// The same from a stream; `file` is for messages, and names the set.
PromptSet read_prompt_set(std::istream& in, const std::filesystem::path& file, int limit = -1);

}  // namespace augur
