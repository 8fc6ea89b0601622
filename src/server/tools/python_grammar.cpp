#include "server/tools/python_grammar.h"

#include <nlohmann/json.hpp>
#include <string>

#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/tools/argument_schemas.h"
#include "server/tools/python_call_reader.h"
#include "server/tools/tag_formats.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// name=value, of any name and value.
ordered_json any_argument() {
  using namespace tag_formats;
  return sequence({{{"type", "regex"}, {"pattern", "[A-Za-z_][A-Za-z0-9_]{0,63}"}},
                   text("="),
                   {{"type", "json_schema"}, {"json_schema", true}, {"max_whitespace_cnt", 1}}});
}

}  // namespace

ordered_json python_call(const Tool& tool, bool enforced) {
  using namespace tag_formats;
  ordered_json parts = ordered_json::array();
  if (!enforced) {
    const ordered_json more = some("star", sequence({text(", "), any_argument()}));
    return sequence({text(tool.name + "("), some("optional", sequence({any_argument(), more})), text(")")});
  }
  const ArgumentSchemas arguments = argument_schemas(tool);
  parts.push_back(text(tool.name + "("));
  // Those that have to be there come first: behind one of them there is a comma before each of the others.
  // Where there is none, the comma stands behind each, as Python allows.
  bool first = true;
  for (const bool required : {true, false}) {
    for (const ArgumentSchema& argument : arguments.list) {
      if (argument.required != required) continue;
      if (!PythonCallReader::is_name(argument.name))
        throw BadRequest(tool.field, "properties: " + text_of(argument.name) +
                                         ": expected a name of letters, digits and underscores");
      const ordered_json value = json_schema(arguments.with_definitions(argument.schema), tool.field);
      if (required) {
        parts.push_back(text((first ? "" : ", ") + argument.name + "="));
        parts.push_back(value);
        first = false;
      } else if (first) {
        parts.push_back(some("optional", sequence({text(argument.name + "="), value, text(", ")})));
      } else {
        parts.push_back(some("optional", sequence({text(", " + argument.name + "="), value})));
      }
    }
  }
  parts.push_back(text(")"));
  return sequence(std::move(parts));
}

}  // namespace augur
