#include "lab/suite/prompt_set.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "io/json_reader.h"

namespace augur {
namespace {

using nlohmann::json;

constexpr const char* kNotFetched = "FULL BENCHMARK DATA SHOULD BE FETCHED";

std::string turn_text(const json& turn) {
  if (turn.is_string()) return turn.get<std::string>();
  if (turn.is_object()) {
    const auto role = turn.find("role");
    if (role != turn.end() && *role != "user") {
      throw Error("a turn of role {}: expected user turns only", role->dump());
    }
    if (const auto content = turn.find("content"); content != turn.end() && content->is_string()) {
      return content->get<std::string>();
    }
  }
  throw Error("turns: expected texts, or objects with \"content\"");
}

std::vector<std::string> turns_of(const json& line) {
  std::vector<std::string> texts;
  for (const char* key : {"turns", "messages"}) {
    const auto turns = line.find(key);
    if (turns == line.end()) continue;
    if (!turns->is_array() || turns->empty()) throw Error("{}: expected a list that is not empty", key);
    for (const json& turn : *turns) texts.push_back(turn_text(turn));
    break;
  }
  if (texts.empty()) {
    const auto prompt = line.find("prompt");
    if (prompt == line.end() || !prompt->is_string()) {
      throw Error("none of \"turns\", \"messages\" and \"prompt\" says what to ask");
    }
    texts.push_back(prompt->get<std::string>());
  }
  for (const std::string& text : texts) {
    if (text.empty()) throw Error("an empty turn");
    if (text.find(kNotFetched) != std::string::npos) {
      throw Error("the data of this prompt have not been fetched yet (SPEED-Bench's prepare step)");
    }
  }
  return texts;
}

SuitePrompt parse(const json& line, std::size_t number) {
  if (!line.is_object()) throw Error("expected an object");
  SuitePrompt prompt;
  prompt.id = std::to_string(number);
  for (const char* key : {"id", "question_id"}) {
    const auto id = line.find(key);
    if (id == line.end()) continue;
    if (!id->is_string() && !id->is_number_integer()) throw Error("{}: expected a text or an integer", key);
    prompt.id = id->is_string() ? id->get<std::string>() : id->dump();
    break;
  }
  if (const auto category = line.find("category"); category != line.end() && category->is_string()) {
    prompt.category = category->get<std::string>();
  }
  prompt.turns = turns_of(line);
  return prompt;
}

}  // namespace

PromptSet read_prompt_set(const std::filesystem::path& path, int limit) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path)) throw Error("{}: cannot be read", path.string());
  return read_prompt_set(in, path, limit);
}

PromptSet read_prompt_set(std::istream& in, const std::filesystem::path& path, int limit) {
  PromptSet set{path.stem().string(), {}};
  std::set<std::string> seen;
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    if (limit >= 0 && std::ssize(set.prompts) >= limit) break;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    const json line = parse_json(text, where);
    try {
      SuitePrompt prompt = parse(line, number);
      if (!seen.insert(prompt.id).second) throw Error("a second prompt with id {}", prompt.id);
      set.prompts.push_back(std::move(prompt));
    } catch (const Error& error) {
      throw Error("{}: {}", where, error.what());
    }
  }
  if (in.bad()) throw Error("{}: reading failed", path.string());
  if (set.prompts.empty()) throw Error("{}: no prompts", path.string());
  return set;
}

}  // namespace augur
