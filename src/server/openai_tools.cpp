#include "server/openai_tools.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/json_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

Tool function(const std::string& field, const ordered_json& value) {
  if (!value.is_object()) unexpected(field, "an object with name, description and parameters");
  Tool tool{.name = {}, .description = {}, .parameters = R"({"type":"object","properties":{}})"};
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
    } else if (key != "strict" || read_boolean(at, item)) {
      unsupported(at);
    }
  }
  if (tool.name.empty()) throw BadRequest(field + ".name", "is missing");
  return tool;
}

/// Whether the model may call functions.
bool read_choice(const ordered_json& value, bool have_tools) {
  if (value == "none") return false;
  if (value != "auto" && value != "required" && !(value.is_object() && value.contains("function"))) {
    unexpected("tool_choice", R"("none", "auto", "required" or {"type": "function", "function": {"name"}})");
  }
  if (!have_tools) throw BadRequest("tool_choice", "goes with \"tools\"");
  if (value != "auto") refuse_forced_call("tool_choice");
  return true;
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
    if (!read_choice(*choice, !offered.tools.empty())) offered.tools.clear();
  }
  return offered;
}

}  // namespace augur
