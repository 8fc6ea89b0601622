#include "server/openai/openai_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "files/big_integers.h"
#include "server/fields/field_table.h"

namespace augur {
namespace {

using json = nlohmann::ordered_json;

/// A string, or a list of parts {"type": "text", "text"}.
std::string content(const std::string& field, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) unexpected(field, "a string or a list of parts");
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    const json& part = value[i];
    if (!part.is_object()) unexpected(at, R"({"type": "text", "text": ...})");
    if (const json type = part.value("type", json()); type != "text") refuse_part(at, type, "text");
    if (!part.contains("text")) throw BadRequest(at + ".text", "is missing");
    text += read_string(at + ".text", part["text"]);
  }
  return text;
}

ToolCall tool_call(const std::string& field, const json& value) {
  const json function = value.is_object() ? value.value("function", json()) : json();
  if (!function.is_object() || value.value("type", json("function")) != "function") {
    unexpected(field, R"({"id", "type": "function", "function": {"name", "arguments"}})");
  }
  ToolCall call;
  call.id = read_string(field + ".id", value.value("id", json()));
  call.name = read_string(field + ".function.name", function.value("name", json()));
  call.arguments = read_string(field + ".function.arguments", function.value("arguments", json()));
  if (!parse_exact_json(call.arguments).is_object()) {
    unexpected(field + ".function.arguments", "a JSON object as a string");
  }
  return call;
}

Message message(const std::string& field, const json& value, FieldNotes& notes) {
  if (!value.is_object()) unexpected(field, "an object with role and content");
  Message to{.absence = Message::Absence::Missing};
  for (const auto& [key, item] : value.items()) {
    const std::string at = field + "." + key;
    if (key == "role") {
      to.role = read_string(at, item);
      constexpr std::array kRoles = {"system", "developer", "user", "assistant", "tool"};
      if (std::find(kRoles.begin(), kRoles.end(), to.role) == kRoles.end()) {
        unexpected(at, "system, developer, user, assistant or tool");
      }
      if (to.role == "developer") to.role = "system";  // its newer name
    } else if (item.is_null()) {
      if (key == "content") to.absence = Message::Absence::Null;
    } else if (key == "content") {
      to.content = content(at, item);
      to.absence = Message::Absence::Empty;
    } else if (key == "tool_calls") {
      if (!item.is_array()) unexpected(at, "a list");
      for (std::size_t i = 0; i < item.size(); ++i) {
        to.tool_calls.push_back(tool_call(fmt::format("{}[{}]", at, i), item[i]));
      }
    } else if (key == "tool_call_id") {
      to.tool_call_id = read_string(at, item);
    } else if (key == "name") {
      to.name = read_string(at, item);
    } else if (key == "reasoning_content" || key == "reasoning") {
      to.reasoning = read_string(at, item);
    }
  }
  note_unknown_members(field, value,
                       {"role", "content", "reasoning_content", "reasoning", "tool_calls", "tool_call_id",
                        "name", "refusal", "annotations"},
                       notes);
  if (to.role.empty()) throw BadRequest(field + ".role", "is missing");
  if (to.absence != Message::Absence::Empty && to.tool_calls.empty())
    throw BadRequest(field + ".content", "is missing");
  if (!to.tool_calls.empty() && to.role != "assistant") {
    throw BadRequest(field + ".tool_calls", "only the assistant calls functions");
  }
  if (!to.reasoning.empty() && to.role != "assistant") {
    throw BadRequest(field + ".reasoning_content", "goes with role \"assistant\"");
  }
  if (to.role == "tool" && to.tool_call_id.empty()) throw BadRequest(field + ".tool_call_id", "is missing");
  if (to.role != "tool" && !to.tool_call_id.empty()) {
    throw BadRequest(field + ".tool_call_id", "goes with role \"tool\"");
  }
  return to;
}

}  // namespace

std::vector<Message> read_openai_messages(const json& value, FieldNotes& notes) {
  if (!value.is_array() || value.empty()) unexpected("messages", "a list that is not empty");
  std::vector<Message> messages;
  for (std::size_t i = 0; i < value.size(); ++i) {
    messages.push_back(message(fmt::format("messages[{}]", i), value[i], notes));
  }
  return messages;
}

}  // namespace augur
