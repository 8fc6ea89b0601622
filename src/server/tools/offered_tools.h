#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "server/fields/field_table.h"
#include "server/tools/tool_parser.h"

namespace augur {

/// A function that the model may call.
struct Tool {
  std::string name;
  std::optional<std::string> description;
  std::optional<std::string> parameters;  ///< a JSON schema, of an object
  /// true: arguments always fit the schema. false: they are any JSON object. Nothing: they fit the schema
  /// where the model has to call a function.
  std::optional<bool> strict;
  std::string field;  ///< of the request, that `parameters` are from
};

struct OfferedTools {
  std::vector<Tool> tools;
  bool parallel = true;      ///< more than one call an answer
  bool required = false;     ///< the answer is calls
  std::string only;          ///< of this function; empty: of any. Goes with `required`
  std::string choice_field;  ///< of the request, that says so
};

// Reading requests, as in json_fields.h. Values keep the order of their keys: models see them.

/// name, description, strict, and the schema of the arguments, which each API calls by a name of its own.
/// Tool::field is the reader's to set.
FieldTable<Tool> function_fields(std::string_view schema_name);

std::string read_tool_name(const std::string& field, const nlohmann::ordered_json& value);
std::string read_schema(const std::string& field, const nlohmann::ordered_json& value);
/// "none", "auto" or "required"; with "none" no tools are left. False: it is none of these. BadRequest naming
/// `field` where there is no tool to choose.
bool read_tool_choice_word(const std::string& field, const nlohmann::ordered_json& value, OfferedTools& to);
/// The answer has to be one call of this function. BadRequest naming `field` where it is not offered.
void require_tool(const std::string& field, const nlohmann::ordered_json& name, OfferedTools& to);

/// Writes the tools into the request's conversation, by the model's chat template, or as text where it knows
/// none (described_tools.h), and, where calls are required or strict, the grammar of the answer into the
/// request. What takes answers apart; nothing where no tools are offered. BadRequest naming the field of what
/// cannot be enforced.
std::optional<ToolParser> offer_tools(const Engine& engine, const OfferedTools& offered, Request& request);

}  // namespace augur
