#include "server/anthropic/anthropic_messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/fields/field_table.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

std::string type_of(const std::string& field, const ordered_json& block) {
  if (!block.is_object()) unexpected(field, "an object with a type");
  return read_string(field + ".type", block.value("type", ordered_json()));
}

std::string string_in(const std::string& field, const ordered_json& block, const char* key) {
  return read_string(field + "." + key, block.value(key, ordered_json()));
}

void append_line(std::string& to, std::string_view text) {
  if (!to.empty()) to += '\n';
  to += text;
}

std::string text_block(const std::string& field, const ordered_json& block, FieldNotes& notes) {
  note_unknown_members(field, block, {"type", "cache_control", "text"}, notes);
  return string_in(field, block, "text");
}

ToolCall tool_use(const std::string& field, const ordered_json& block, FieldNotes& notes) {
  note_unknown_members(field, block, {"type", "cache_control", "id", "name", "input"}, notes);
  const ordered_json input = block.value("input", ordered_json());
  if (!input.is_object()) unexpected(field + ".input", "an object");
  return {.id = string_in(field, block, "id"),
          .name = string_in(field, block, "name"),
          .arguments = text_of(input)};
}

Message tool_result(const std::string& field, const ordered_json& block, FieldNotes& notes) {
  note_unknown_members(field, block, {"type", "cache_control", "tool_use_id", "content", "is_error"}, notes);
  Message to{.role = "tool"};
  to.tool_call_id = string_in(field, block, "tool_use_id");
  if (const auto error = block.find("is_error"); error != block.end() && !error->is_null()) {
    if (read_boolean(field + ".is_error", *error)) to.content = "Error: ";
  }
  if (const auto content = block.find("content"); content != block.end() && !content->is_null()) {
    to.content += read_anthropic_text(field + ".content", *content, notes);
  }
  return to;
}

void read_message(const std::string& field, const ordered_json& value, FieldNotes& notes,
                  std::vector<Message>& to) {
  if (!value.is_object()) unexpected(field, "an object with role and content");
  note_unknown_members(field, value, {"role", "content"}, notes);
  const std::string role = string_in(field, value, "role");
  if (role != "user" && role != "assistant") unexpected(field + ".role", "user or assistant");
  Message message{.role = role};
  const ordered_json content = value.value("content", ordered_json());
  if (content.is_string()) {
    message.content = content.get<std::string>();
    return to.push_back(std::move(message));
  }
  if (!content.is_array() || content.empty()) unexpected(field + ".content", "a string or a list of blocks");
  bool said = false;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", field, i);
    const std::string type = type_of(at, content[i]);
    if (type == "text") {
      append_line(message.content, text_block(at, content[i], notes));
      said = true;
    } else if (type == "thinking" && role == "assistant") {
      note_unknown_members(at, content[i], {"type", "thinking", "signature"}, notes);
      append_line(message.reasoning, string_in(at, content[i], "thinking"));
      said = true;
    } else if (type == "tool_use" && role == "assistant") {
      message.tool_calls.push_back(tool_use(at, content[i], notes));
      said = true;
    } else if (type == "tool_result" && role == "user") {
      to.push_back(tool_result(at, content[i], notes));
    } else {
      refuse_part(at + ".type", type, role == "user" ? "text or tool_result" : "text, thinking or tool_use");
    }
  }
  if (said) to.push_back(std::move(message));
}

}  // namespace

std::string read_anthropic_text(const std::string& field, const ordered_json& value, FieldNotes& notes) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) unexpected(field, "a string or a list of text blocks");
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    if (const std::string type = type_of(at, value[i]); type != "text")
      refuse_part(at + ".type", type, "text");
    append_line(text, text_block(at, value[i], notes));
  }
  return text;
}

std::vector<Message> read_anthropic_messages(const ordered_json& value, FieldNotes& notes) {
  if (!value.is_array() || value.empty()) unexpected("messages", "a list that is not empty");
  std::vector<Message> messages;
  for (std::size_t i = 0; i < value.size(); ++i) {
    read_message(fmt::format("messages[{}]", i), value[i], notes, messages);
  }
  if (messages.back().role == "assistant") {
    throw BadRequest("messages", "the last one is the assistant's: expected one that it can answer");
  }
  return messages;
}

}  // namespace augur
