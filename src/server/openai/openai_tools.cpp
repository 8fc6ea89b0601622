#include "server/openai/openai_tools.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/fields/json_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

Tool function(const std::string& field, const ordered_json& value) {
  if (!value.is_object()) unexpected(field, "an object with name, description and parameters");
  Tool tool{.field = field + ".parameters"};
  for (const auto& [key, item] : value.items()) {
    const std::string at = field + "." + key;
    if (key == "name") {
      tool.name = read_tool_name(at, item);
    } else if (item.is_null()) {
      continue;
    } else if (key == "description") {
      tool.description = read_string(at, item);
    } else if (key == "parameters") {
      tool.parameters = read_schema(at, item);
    } else if (key == "strict") {
      tool.strict = read_boolean(at, item);
    } else {
      unsupported(at);
    }
  }
  if (tool.name.empty()) throw BadRequest(field + ".name", "is missing");
  return tool;
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

OfferedTools read_openai_tools(std::string_view text) {
  const ordered_json body = parse_ordered_body(text);
  OfferedTools offered;
  if (const auto tools = body.find("tools"); tools != body.end() && !tools->is_null()) {
    if (!tools->is_array()) unexpected("tools", "a list");
    for (std::size_t i = 0; i < tools->size(); ++i) {
      const std::string at = fmt::format("tools[{}]", i);
      const ordered_json& tool = (*tools)[i];
      if (!tool.is_object() || tool.value("type", ordered_json()) != "function" ||
          !tool.contains("function") || tool.size() != 2) {
        unexpected(at, R"({"type": "function", "function": {...}})");
      }
      offered.tools.push_back(function(at + ".function", tool["function"]));
    }
  }
  if (const auto parallel = body.find("parallel_tool_calls");
      parallel != body.end() && !parallel->is_null()) {
    offered.parallel = read_boolean("parallel_tool_calls", *parallel);
  }
  if (const auto choice = body.find("tool_choice"); choice != body.end() && !choice->is_null()) {
    read_choice(*choice, offered);
  }
  return offered;
}

}  // namespace augur
