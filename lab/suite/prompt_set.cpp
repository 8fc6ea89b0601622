#include "lab/suite/prompt_set.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

// Written beside this file in prompts/, embedded by the build.
constexpr const char* kQuick =
#include "quick.inc"
    ;

PromptSet set_of(PromptFile file, const std::filesystem::path& path) {
  if (!file.error.empty()) throw Error("{}", file.error);
  if (file.prompts.empty()) throw Error("{}: no prompts", path.string());
  PromptSet set{path.stem().string(), {}};
  std::set<std::string> seen;
  for (PromptLine& line : file.prompts) {
    std::string id = line.id.is_string() ? line.id.get<std::string>() : line.id.dump();
    if (!seen.insert(id).second) throw Error("{}: a second prompt with id {}", path.string(), id);
    set.prompts.push_back({std::move(id), std::move(line.category), std::move(line.turns)});
  }
  return set;
}

}  // namespace

PromptSet read_prompt_set(const std::filesystem::path& path, int limit) {
  return set_of(read_prompt_file(path, limit), path);
}

PromptSet bundled_prompts(int limit) {
  std::istringstream in(kQuick);
  PromptSet set = set_of(read_prompt_file(in, "quick.jsonl"), "quick.jsonl");
  if (limit < 0) return set;
  std::vector<SuitePrompt> chosen;
  for (const std::size_t which : {0U, 1U}) {
    for (std::size_t i = which; i < set.prompts.size() && std::ssize(chosen) < limit; i += 2) {
      chosen.push_back(set.prompts[i]);
    }
  }
  set.prompts = std::move(chosen);
  return set;
}

std::vector<std::pair<std::string, PromptSet>> by_category(const PromptSet& set) {
  std::vector<std::pair<std::string, PromptSet>> sets;
  for (const SuitePrompt& prompt : set.prompts) {
    const std::string name = prompt.category.empty() ? "(none)" : prompt.category;
    auto at = std::find_if(sets.begin(), sets.end(), [&](const auto& entry) { return entry.first == name; });
    if (at == sets.end()) at = sets.insert(at, {name, {set.name, {}}});
    at->second.prompts.push_back(prompt);
  }
  if (sets.size() < 2) sets.clear();
  return sets;
}

}  // namespace augur
