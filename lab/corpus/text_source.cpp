#include "lab/corpus/text_source.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/json_reader.h"
#include "lab/corpus/chat_record.h"
#include "lab/corpus/line_reader.h"

namespace augur {

void read_texts(const std::filesystem::path& file, const std::function<bool(std::string_view)>& take) {
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string where = fmt::format("{}: line {}", reader.file(), reader.number());
    const nlohmann::json record = parse_json(line, where);
    const auto text = record.is_object() ? record.find("text") : record.end();
    if (text != record.end() && text->is_string()) {
      if (!take(text->get_ref<const std::string&>())) return;
    } else if (record.is_object() && record.contains("messages")) {
      for (const Message& message : chat_messages(record["messages"], where)) {
        if (!take(message.content)) return;
      }
    } else {
      throw Error("{}: expected an object with \"text\" or \"messages\"", where);
    }
  }
}

}  // namespace augur
