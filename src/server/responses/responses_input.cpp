#include "server/responses/responses_input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "files/big_integers.h"
#include "server/fields/field_table.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

std::string string_in(const std::string& field, const ordered_json& item, const char* key) {
  return read_string(field + "." + key, item.value(key, ordered_json()));
}

/// A string, or a list of parts of text.
std::string text(const std::string& field, const ordered_json& value, FieldNotes& notes) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() || value.empty()) unexpected(field, "a string or a list of parts");
  std::string all;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    const ordered_json type = value[i].is_object() ? value[i].value("type", ordered_json()) : ordered_json();
    if (type != "input_text" && type != "output_text") {
      refuse_part(at + ".type", type, "input_text or output_text");
    }
    note_unknown_members(at, value[i], {"type", "id", "status", "text", "annotations", "logprobs"}, notes);
    all += string_in(at, value[i], "text");
  }
  return all;
}

Message message(const std::string& field, const ordered_json& item, FieldNotes& notes) {
  note_unknown_members(field, item, {"type", "id", "status", "role", "content"}, notes);
  Message to{.role = string_in(field, item, "role")};
  if (to.role == "developer") to.role = "system";  // its newer name
  if (to.role != "system" && to.role != "user" && to.role != "assistant") {
    unexpected(field + ".role", "system, developer, user or assistant");
  }
  to.content = text(field + ".content", item.value("content", ordered_json()), notes);
  return to;
}

void read_call(const std::string& field, const ordered_json& item, FieldNotes& notes,
               std::vector<Message>& to) {
  note_unknown_members(field, item, {"type", "id", "status", "call_id", "name", "arguments"}, notes);
  ToolCall call{.id = string_in(field, item, "call_id"),
                .name = string_in(field, item, "name"),
                .arguments = string_in(field, item, "arguments")};
  if (!parse_exact_json(call.arguments).is_object()) {
    unexpected(field + ".arguments", "a JSON object as a string");
  }
  if (to.empty() || to.back().role != "assistant") to.push_back({.role = "assistant"});
  to.back().tool_calls.push_back(std::move(call));
}

/// Thoughts, or what was said of them where these are not told.
std::string reasoning(const std::string& field, const ordered_json& item, FieldNotes& notes) {
  note_unknown_members(field, item, {"type", "id", "status", "summary", "content", "encrypted_content"},
                       notes);
  std::string text;
  for (const auto& [list, part_type] :
       {std::pair{"content", "reasoning_text"}, {"summary", "summary_text"}}) {
    const ordered_json parts = item.value(list, ordered_json());
    if (parts.is_null() || !text.empty()) continue;
    if (!parts.is_array()) unexpected(fmt::format("{}.{}", field, list), "a list of parts");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string at = fmt::format("{}.{}[{}]", field, list, i);
      if (!parts[i].is_object()) unexpected(at, "an object with a type");
      const ordered_json type = parts[i].value("type", ordered_json());
      if (type != part_type) refuse_part(at + ".type", type, part_type);
      text += string_in(at, parts[i], "text");
    }
  }
  return text;
}

Message call_output(const std::string& field, const ordered_json& item, FieldNotes& notes) {
  note_unknown_members(field, item, {"type", "id", "status", "call_id", "output"}, notes);
  Message to{.role = "tool"};
  to.tool_call_id = string_in(field, item, "call_id");
  to.content = text(field + ".output", item.value("output", ordered_json()), notes);
  return to;
}

}  // namespace

std::vector<Message> read_responses_input(const ordered_json& value, FieldNotes& notes) {
  if (value.is_string()) return {{.role = "user", .content = value.get<std::string>()}};
  if (!value.is_array() || value.empty()) unexpected("input", "a string or a list of items");
  std::vector<Message> messages;
  std::string thoughts;  // of the assistant's next message
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("input[{}]", i);
    const ordered_json& item = value[i];
    if (!item.is_object()) unexpected(at, "an object");
    const ordered_json type = item.value("type", ordered_json("message"));
    if (type == "message") {
      messages.push_back(message(at, item, notes));
    } else if (type == "function_call") {
      read_call(at, item, notes, messages);
    } else if (type == "function_call_output") {
      messages.push_back(call_output(at, item, notes));
    } else if (type == "reasoning") {
      thoughts += (thoughts.empty() ? "" : "\n") + reasoning(at, item, notes);
      continue;
    } else {
      unexpected(at + ".type", "message, function_call, function_call_output or reasoning");
    }
    if (messages.back().role != "assistant" || thoughts.empty()) continue;
    std::string& all = messages.back().reasoning;
    all += (all.empty() ? "" : "\n") + std::exchange(thoughts, {});
  }
  if (messages.empty() || !thoughts.empty())
    messages.push_back({.role = "assistant", .reasoning = std::move(thoughts)});
  return messages;
}

}  // namespace augur
