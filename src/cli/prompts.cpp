#include "cli/prompts.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>

#include "base/error.h"

namespace augur::cli {
namespace {

using nlohmann::json;

PromptLine parse_line(const std::string& line) {
  const json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) throw Error("not valid JSON");
  if (!value.is_object()) throw Error("expected an object with \"id\" and \"turns\"");
  PromptLine prompt;
  if (const auto id = value.find("id"); id != value.end()) {
    if (!id->is_string() && !id->is_number()) throw Error("\"id\": expected a string or a number");
    prompt.id = *id;
  } else {
    throw Error("\"id\" is missing");
  }
  if (const auto category = value.find("category"); category != value.end() && category->is_string()) {
    prompt.category = category->get<std::string>();
  }
  const auto turns = value.find("turns");
  if (turns == value.end()) throw Error("\"turns\" is missing");
  if (!turns->is_array() || turns->empty() || !turns->front().is_string()) {
    throw Error("\"turns\": expected an array that begins with a string");
  }
  prompt.text = turns->front().get<std::string>();
  return prompt;
}

}  // namespace

PromptFile read_prompts(const std::filesystem::path& path, int limit) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path)) throw Error("{}: cannot be read", path.string());
  PromptFile file;
  const auto wanted = limit < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(limit);
  std::string line;
  for (int number = 1; file.prompts.size() < wanted && std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      file.prompts.push_back(parse_line(line));
    } catch (const Error& error) {
      file.error = fmt::format("{}:{}: {}", path.string(), number, error.what());
      break;
    }
  }
  if (file.error.empty() && in.bad()) file.error = fmt::format("{}: reading failed", path.string());
  return file;
}

}  // namespace augur::cli
