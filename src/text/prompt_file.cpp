#include "text/prompt_file.h"

#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "files/json_reader.h"

namespace augur {
namespace {

using nlohmann::json;

constexpr const char* kNotFetched = "FULL BENCHMARK DATA SHOULD BE FETCHED";

json id_of(const json& line, int number) {
  for (const char* key : {"id", "question_id"}) {
    const auto id = line.find(key);
    if (id == line.end()) continue;
    if (!id->is_string() && !id->is_number()) throw Error("\"{}\": expected a string or a number", key);
    return *id;
  }
  return number;
}

std::string turn_text(const char* key, const json& turn) {
  if (turn.is_string()) return turn.get<std::string>();
  if (turn.is_object()) {
    if (const auto role = turn.find("role"); role != turn.end() && *role != "user") {
      throw Error("\"{}\": a turn of role {}, where only the user's are expected", key, role->dump());
    }
    if (const auto content = turn.find("content"); content != turn.end() && content->is_string()) {
      return content->get<std::string>();
    }
  }
  throw Error("\"{}\": expected strings, or objects with \"content\"", key);
}

std::vector<std::string> turns_of(const json& line) {
  for (const char* key : {"turns", "messages"}) {
    const auto turns = line.find(key);
    if (turns == line.end()) continue;
    if (!turns->is_array() || turns->empty()) throw Error("\"{}\": expected a list that is not empty", key);
    std::vector<std::string> texts;
    for (const json& turn : *turns) texts.push_back(turn_text(key, turn));
    return texts;
  }
  const auto prompt = line.find("prompt");
  if (prompt == line.end() || !prompt->is_string()) {
    throw Error("expected one of \"turns\", \"messages\" and \"prompt\"");
  }
  return {prompt->get<std::string>()};
}

PromptLine prompt_of(const json& line, int number) {
  if (!line.is_object()) throw Error("expected an object with \"turns\", \"messages\" or \"prompt\"");
  PromptLine prompt{id_of(line, number), {}, turns_of(line)};
  if (const auto category = line.find("category"); category != line.end() && category->is_string()) {
    prompt.category = category->get<std::string>();
  }
  for (const std::string& text : prompt.turns) {
    if (text.empty()) throw Error("an empty turn");
    if (text.find(kNotFetched) != std::string::npos) {
      throw Error("the data of this prompt have not been fetched yet (SPEED-Bench's prepare step)");
    }
  }
  return prompt;
}

PromptLine parse_line(const std::string& text, const std::string& file, int number) {
  const std::string where = fmt::format("{}:{}", file, number);
  const json line = parse_json(text, where);
  try {
    return prompt_of(line, number);
  } catch (const Error& error) {
    throw Error(error.cause(), "{}: {}", where, error.what());
  }
}

}  // namespace

PromptFile read_prompt_file(const std::filesystem::path& path, int limit) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path))
    throw Error(ErrorKind::NotFound, "{}: cannot be read", path.string());
  return read_prompt_file(in, path.string(), limit);
}

PromptFile read_prompt_file(std::istream& in, const std::string& name, int limit) {
  PromptFile file;
  std::string text;
  for (int number = 1; (limit < 0 || std::ssize(file.prompts) < limit) && std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      file.prompts.push_back(parse_line(text, name, number));
    } catch (const Error& error) {
      file.error = error.what();
      return file;
    }
  }
  if (in.bad()) file.error = fmt::format("{}: reading failed", name);
  return file;
}

}  // namespace augur
