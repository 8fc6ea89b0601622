#include "server/tools/offered_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>

#include "files/big_integers.h"
#include "server/answers/json_answers.h"
#include "server/fields/json_fields.h"
#include "server/tools/described_tools.h"
#include "server/tools/tool_grammar.h"

namespace augur {

using nlohmann::ordered_json;

FieldTable<Tool> function_fields(std::string_view schema_name) {
  return {
      {{"name", FieldType::text(&Limits::tool_name_bytes, "^[A-Za-z0-9_.-]+$"), {}, true},
       [](const FieldValue& v, Tool& to) { to.name = read_tool_name(v.path, v.json); }},
      {{"description", FieldType::text()}, [](const FieldValue& v, Tool& to) { to.description = v.text(); }},
      {{schema_name, FieldType::schema(R"({"type": "object", "description": "a JSON schema"})")},
       [](const FieldValue& v, Tool& to) { to.parameters = read_schema(v.path, v.json); }},
      {{"strict", FieldType::boolean()}, [](const FieldValue& v, Tool& to) { to.strict = v.boolean(); }},
  };
}

std::string read_tool_name(const std::string& field, const ordered_json& value) {
  std::string name = read_string(field, value);
  const bool fine = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (!fine || name.empty()) unexpected(field, "letters, digits, underscores, dashes and dots");
  return name;
}

std::string read_schema(const std::string& field, const ordered_json& value) {
  if (!value.is_object()) unexpected(field, "a JSON schema");
  return text_of(value);
}

bool read_tool_choice_word(const std::string& field, const ordered_json& value, OfferedTools& to) {
  if (value == "none") {
    to.tools.clear();
    return true;
  }
  if (to.tools.empty()) throw BadRequest(field, "goes with \"tools\"");
  to.required = value == "required";
  to.choice_field = field;
  return to.required || value == "auto";
}

void require_tool(const std::string& field, const ordered_json& name, OfferedTools& to) {
  to.only = read_tool_name(field, name);
  const auto named = [&](const Tool& tool) { return tool.name == to.only; };
  if (std::none_of(to.tools.begin(), to.tools.end(), named)) {
    throw BadRequest(field, "there is no '" + to.only + "' among \"tools\"");
  }
  to.required = true;
  to.parallel = false;
  to.choice_field = field;
}

namespace {

/// Calls of earlier turns as LFM2 writes them, in the content: its first templates have no place for them.
void write_python_calls(std::vector<Message>& messages) {
  for (Message& message : messages) {
    if (message.tool_calls.empty()) continue;
    std::string calls;
    for (const ToolCall& call : message.tool_calls) {
      std::string arguments;
      const ordered_json given = parse_exact_json(call.arguments);
      for (const auto& [name, value] : given.items())
        arguments += (arguments.empty() ? "" : ", ") + name + "=" + write_exact_json(value);
      calls += (calls.empty() ? "" : ", ") + call.name + "(" + arguments + ")";
    }
    message.content += "<|tool_call_start|>[" + calls + "]<|tool_call_end|>";
    message.tool_calls.clear();
  }
}

}  // namespace

std::optional<ToolParser> offer_tools(const Engine& engine, const OfferedTools& offered, Request& request) {
  if (offered.tools.empty()) return std::nullopt;
  const std::optional<ToolFormat> own = tool_format(engine.chat_template());
  const ToolFormat format = own ? *own : described_format(engine.chat_template());
  ordered_json list = ordered_json::array();
  FunctionTypes functions;
  std::unordered_set<std::string_view> known;
  for (const Tool& tool : offered.tools) {
    if (!known.insert(tool.name).second) throw BadRequest("tools", "'" + tool.name + "' is there twice");
    functions.emplace(tool.name, ArgumentTypes(tool.parameters));
    ordered_json function = {{"name", tool.name}};
    if (tool.description) function["description"] = *tool.description;
    if (tool.parameters) function["parameters"] = parse_exact_json(*tool.parameters);
    list.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  if (own) {
    request.tools = text_of(list);
    if (*own == ToolFormat::Python && engine.chat_template().find("tool_calls") == std::string_view::npos)
      write_python_calls(request.messages);
  } else {
    describe_tools(list, format, request.messages);
  }
  if (constrains(offered)) {
    const std::string field = offered.required ? offered.choice_field : "tools";
    if (request.grammar) {
      throw BadRequest(field, "the answer's form is said by another field, too: expected one of them");
    }
    request.grammar = tool_grammar(engine, format, offered);
  }
  for (const std::string_view tag : tool_tags(format)) {
    const std::vector<TokenId> tokens = engine.tokenize_part(tag);
    request.shown_tokens.insert(request.shown_tokens.end(), tokens.begin(), tokens.end());
  }
  return ToolParser(format, std::move(functions), offered.parallel);
}

}  // namespace augur
