#include "server/tools/xml_grammar.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/tools/argument_schemas.h"
#include "server/tools/argument_types.h"
#include "server/tools/tag_formats.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using namespace tag_formats;

constexpr std::string_view kEnd = "\n</parameter>\n";
constexpr int kDeepestChoice = 8;
class XmlArguments {
 public:
  explicit XmlArguments(const Tool& tool) : tool_(tool), arguments_(argument_schemas(tool)) {}

  ordered_json all() const {
    ordered_json list = ordered_json::array();
    for (const ArgumentSchema& one : arguments_.list) {
      if (one.name.empty() || one.name.find_first_of("<>\n") != std::string::npos)
        refuse("properties: " + text_of(one.name) + ": expected a name without <, > and line breaks");
      ordered_json format = argument(one.name, one.schema, 0);
      list.push_back(one.required ? std::move(format) : some("optional", std::move(format)));
    }
    if (list.empty()) return text("");
    return sequence(std::move(list));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw BadRequest(tool_.field, what); }

  ordered_json argument(const std::string& name, const ordered_json& schema, int depth) const {
    const ordered_json* const here = resolve_schema(schema, arguments_.root);
    if (here == nullptr || depth > kDeepestChoice)
      refuse("properties." + name + ": its references lead nowhere, or too far");
    const std::string begin = "<parameter=" + name + ">\n";
    if ((kinds_of_schema(*here, arguments_.root) & kJsonText) == 0) {
      ordered_json value = json_schema(arguments_.with_definitions(*here), tool_.field);
      return sequence({text(begin), std::move(value), text(kEnd)});
    }
    // Texts are written without quotes.
    const auto written = [&](const ordered_json& value) {
      const std::string raw = value.is_string() ? value.get<std::string>() : text_of(value);
      return text(begin + raw + std::string(kEnd));
    };
    if (here->is_object()) {
      if (here->contains("const")) return written((*here)["const"]);
      if (const auto list = here->find("enum"); list != here->end() && list->is_array() && !list->empty()) {
        ordered_json values = ordered_json::array();
        for (const ordered_json& value : *list) values.push_back(written(value));
        return any_of(std::move(values));
      }
      for (const char* const key : {"anyOf", "oneOf"}) {
        const auto choices = here->find(key);
        if (choices == here->end() || !choices->is_array() || choices->empty()) continue;
        ordered_json formats = ordered_json::array();
        for (const ordered_json& choice : *choices) formats.push_back(argument(name, choice, depth + 1));
        return any_of(std::move(formats));
      }
      for (const auto& [key, value] : here->items()) {
        if (key != "type" && !is_note(key))
          refuse("properties." + name + ": '" + key +
                 "' cannot be enforced: this model writes texts of calls without quotes");
      }
    }
    return tag(begin, {{"type", "any_text"}}, kEnd);
  }

  const Tool& tool_;
  const ArgumentSchemas arguments_;
};

}  // namespace

ordered_json xml_arguments(const Tool& tool, bool enforced) {
  if (enforced) return XmlArguments(tool).all();
  return some("star", sequence({text("<parameter="),
                                {{"type", "regex"}, {"pattern", "[A-Za-z_][A-Za-z0-9_.-]{0,63}"}},
                                tag(">\n", {{"type", "any_text"}}, kEnd)}));
}

}  // namespace augur
