#include "server/openai/openai_tools.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/fields/json_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

const FieldTable<Tool>& entry_fields() {
  static const FieldTable<Tool> function = function_fields("parameters");
  static const FieldTable<Tool> table = {
      {{"type", FieldType::one_of(R"(["function"])"), {}, true}, [](const FieldValue&, Tool&) {}},
      {{"function", FieldType::schema(R"({"$ref": "#/components/schemas/Function"})"), {}, true},
       [](const FieldValue& v, Tool& to) {
         to.field = v.path + ".parameters";
         read_object(function, v.path, v.json, v.notes, to);
       }}};
  return table;
}

void read_tools(const FieldValue& value, ToolFields& to) {
  if (!value.json.is_array()) unexpected(value.path, "a list");
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", value.path, i);
    const ordered_json& tool = value.json[i];
    if (!tool.is_object() || tool.value("type", ordered_json()) != "function" || !tool.contains("function")) {
      unexpected(at, R"({"type": "function", "function": {...}})");
    }
    read_object(entry_fields(), at, tool, value.notes, to.offered.tools.emplace_back());
  }
}

void read_choice(const ordered_json& value, OfferedTools& to) {
  const std::string field = "tool_choice";
  if (read_tool_choice_word(field, value, to)) return;
  const bool named = value.is_object() && value.size() == 2 &&
                     value.value("type", ordered_json()) == "function" && value.contains("function") &&
                     value["function"].is_object() && value["function"].size() == 1 &&
                     value["function"].contains("name");
  if (!named) {
    unexpected(field, R"("none", "auto", "required" or {"type": "function", "function": {"name"}})");
  }
  require_tool(field + ".function.name", value["function"]["name"], to);
}

}  // namespace

const FieldTable<ToolFields>& tool_fields() {
  static const FieldTable<ToolFields> table = {
      {{"tools", FieldType::schema(R"({"type": "array", "items": {"$ref": "#/components/schemas/Tool"}})")},
       read_tools},
      {{"tool_choice", FieldType::schema(R"({"anyOf": [{"enum": ["none", "auto", "required"]},
          {"type": "object", "properties": {"type": {"const": "function"}, "function": {"type": "object",
           "properties": {"name": {"type": "string"}}, "required": ["name"]}},
           "required": ["type", "function"]}]})")},
       [](const FieldValue& v, ToolFields& to) { to.choice = v.json; }},
      {{"parallel_tool_calls", FieldType::boolean()},
       [](const FieldValue& v, ToolFields& to) { to.offered.parallel = v.boolean(); }}};
  return table;
}

OfferedTools offered_by(const ToolFields& fields) {
  OfferedTools offered = fields.offered;
  if (!fields.choice.is_null()) read_choice(fields.choice, offered);
  return offered;
}

}  // namespace augur
