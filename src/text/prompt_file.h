#pragma once
#include <filesystem>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace augur {

/// A conversation whose user turns are given and whose answers are generated.
struct PromptLine {
  nlohmann::json id;     ///< a string or a number, as it was written; the line's number where there is none
  std::string category;  ///< empty: the file names none
  std::vector<std::string> turns;  ///< at least one, none empty
};

struct PromptFile {
  std::vector<PromptLine> prompts;
  std::string error;  ///< why reading stopped early, naming file and line; empty if it did not
};

/// Reads a file of prompts, one JSON object a line, in any of the forms in use:
///   {"id", "category", "turns": [TEXT...]}            Augur's
///   {"question_id", "category", "turns": [TEXT...]}   Spec-Bench, EAGLE, MT-bench (further keys are left)
///   {"question_id", "category", "turns"/"messages": [{"role", "content"}...]}   SPEED-Bench, prepared
///   {"prompt": TEXT}                                  custom sets of serving benchmarks
/// At most `limit` prompts (< 0: all), from the beginning; blank lines are skipped. Roles other than "user"
/// are refused, because answers come from the model under test, and so are the texts that SPEED-Bench puts
/// where the data have yet to be fetched. A line that is refused ends the reading: the prompts before it and
/// the error are returned, so that work on them is not lost. Throws Error only when the file cannot be read
/// at all.
PromptFile read_prompt_file(const std::filesystem::path& path, int limit = -1);

/// The same from a stream; `name` stands for the file in errors.
PromptFile read_prompt_file(std::istream& in, const std::string& name, int limit = -1);

}  // namespace augur
