#include "lab/corpus/chat_record.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {

std::vector<Message> chat_messages(const nlohmann::json& list, const std::string& where) {
  if (!list.is_array()) throw Error("{}: messages: expected a list", where);
  std::vector<Message> messages;
  for (const nlohmann::json& message : list) {
    if (!message.is_object() || !message.contains("role") || !message.contains("content") ||
        !message["role"].is_string() || !message["content"].is_string()) {
      throw Error("{}: messages: expected objects with the strings role and content", where);
    }
    messages.push_back({message["role"], message["content"]});
  }
  return messages;
}

}  // namespace augur
