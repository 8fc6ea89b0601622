#include "server/tools/argument_schemas.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "files/big_integers.h"
#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/tools/argument_types.h"

namespace augur {

using nlohmann::ordered_json;

bool is_note(std::string_view keyword) {
  constexpr std::array<std::string_view, 9> kNotes = {
      "title", "description", "default", "examples", "example", "$schema", "$id", "deprecated", "$comment"};
  return std::find(kNotes.begin(), kNotes.end(), keyword) != kNotes.end();
}

ordered_json ArgumentSchemas::with_definitions(ordered_json schema) const {
  for (const char* const key : {"$defs", "definitions"})
    if (schema.is_object() && root.contains(key)) schema[key] = root[key];
  return schema;
}

ArgumentSchemas argument_schemas(const Tool& tool) {
  constexpr std::array<std::string_view, 6> kOfObjects = {
      "type", "properties", "required", "additionalProperties", "$defs", "definitions"};
  const auto refuse = [&](const std::string& what) { throw BadRequest(tool.field, what); };
  ArgumentSchemas to{.root = parse_exact_json(tool.parameters.value_or("{}")), .list = {}};
  const ordered_json* const object = resolve_schema(to.root, to.root);
  if (object == nullptr || !object->is_object() || object->value("type", ordered_json("object")) != "object")
    throw BadRequest(tool.field, R"(expected the schema of an object: "type": "object")");
  for (const auto& [key, value] : object->items()) {
    if (std::find(kOfObjects.begin(), kOfObjects.end(), key) == kOfObjects.end() && !is_note(key))
      refuse("'" + key + "' cannot be enforced in the form in which this model writes calls");
  }
  const ordered_json properties = object->value("properties", ordered_json::object());
  const ordered_json required = object->value("required", ordered_json::array());
  if (!properties.is_object()) refuse("properties: expected an object");
  if (!required.is_array()) refuse("required: expected a list");
  for (const ordered_json& name : required) {
    if (!name.is_string() || !properties.contains(name.get<std::string>()))
      refuse("\"required\" names " + text_of(name) + ", which is not among \"properties\"");
  }
  for (const auto& [name, schema] : properties.items()) {
    const bool demanded = std::find(required.begin(), required.end(), name) != required.end();
    to.list.push_back({.name = name, .schema = schema, .required = demanded});
  }
  return to;
}

}  // namespace augur
