#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "server/tool_parser.h"

namespace augur {

/// A function that the model may call.
struct Tool {
  std::string name;
  std::string description;
  std::string parameters;  ///< a JSON schema, of an object
};

struct OfferedTools {
  std::vector<Tool> tools;
  bool parallel = true;  ///< more than one call an answer
};

// Reading requests, as in json_fields.h. Values keep the order of their keys: models see them.

std::string read_tool_name(const std::string& field, const nlohmann::ordered_json& value);
std::string read_schema(const std::string& field, const nlohmann::ordered_json& value);
/// Of a choice that makes the model call a function.
[[noreturn]] void refuse_forced_call(const std::string& field);

/// Writes the tools into the request's conversation, by the model's chat template. What takes answers apart;
/// nothing where no tools are offered. BadRequest naming "tools" where the template knows none.
std::optional<ToolParser> offer_tools(const Engine& engine, const OfferedTools& offered, Request& request);

}  // namespace augur
