#include "lab/corpus/prompt_source.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/json_reader.h"
#include "lab/corpus/chat_record.h"
#include "lab/corpus/line_reader.h"

namespace augur {

namespace {

std::string beginning(const std::string& text, std::int64_t bytes) {
  const auto length = static_cast<std::size_t>(bytes);
  if (text.size() <= length) return text;
  std::size_t end = text.rfind('\n', length);
  if (end == std::string::npos || end < length / 2) end = text.find_last_of(" \n", length);
  if (end == std::string::npos || end == 0) {
    end = length;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;  // whole characters
  }
  return text.substr(0, end);
}

}  // namespace

void read_training_prompts(const std::filesystem::path& file, std::int64_t text_bytes,
                           const std::function<bool(TrainingPrompt)>& take) {
  LineReader reader(file);
  const std::string name = file.filename().string();
  for (std::string line; reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string where = fmt::format("{}: line {}", reader.file(), reader.number());
    const nlohmann::json record = parse_json(line, where);
    TrainingPrompt prompt{
        fmt::format("{}:{}", name, reader.number()), name.substr(0, name.find('.')), {}, {}};
    if (record.is_object() && record.contains("messages")) {
      prompt.messages = chat_messages(record["messages"], where);
      while (!prompt.messages.empty() && prompt.messages.back().role == "assistant")
        prompt.messages.pop_back();
    } else if (record.is_object() && record.contains("turns") && record["turns"].is_array() &&
               !record["turns"].empty() && record["turns"][0].is_string()) {
      prompt.messages = {{"user", record["turns"][0]}};
    } else if (record.is_object() && record.contains("text") && record["text"].is_string()) {
      prompt.text = beginning(record["text"].get_ref<const std::string&>(), text_bytes);
    } else {
      throw Error("{}: expected one of the keys messages, turns, text", where);
    }
    if (prompt.messages.empty() && prompt.text.empty()) continue;
    if (!take(std::move(prompt))) return;
  }
}

}  // namespace augur
