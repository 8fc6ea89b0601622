#include "server/tools/xml_grammar.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "files/big_integers.h"
#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/tools/argument_types.h"
#include "server/tools/tag_formats.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using namespace tag_formats;

constexpr std::string_view kEnd = "\n</parameter>\n";
constexpr int kDeepestChoice = 8;
/// What says nothing of a value.
constexpr std::array<std::string_view, 9> kNotes = {
    "title", "description", "default", "examples", "example", "$schema", "$id", "deprecated", "$comment"};
constexpr std::array<std::string_view, 6> kOfObjects = {
    "type", "properties", "required", "additionalProperties", "$defs", "definitions"};

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

class XmlArguments {
 public:
  XmlArguments(const Tool& tool, const ordered_json& root) : tool_(tool), root_(root) {}

  ordered_json all() const {
    const ordered_json* const object = resolve_schema(root_, root_);
    if (object == nullptr || !object->is_object()) refuse("expected the schema of an object");
    if (object->value("type", ordered_json("object")) != "object")
      refuse(R"(expected the schema of an object: "type": "object")");
    for (const auto& [key, value] : object->items()) {
      if (!is_one_of(key, kOfObjects) && !is_one_of(key, kNotes))
        refuse("'" + key + "' cannot be enforced in the form in which this model writes calls");
    }
    const ordered_json properties = object->value("properties", ordered_json::object());
    const ordered_json required = object->value("required", ordered_json::array());
    if (!properties.is_object() || !required.is_array()) refuse("expected the schema of an object");
    for (const ordered_json& name : required) {
      if (!name.is_string() || !properties.contains(name.get<std::string>()))
        refuse("\"required\" names " + text_of(name) + ", which is not among \"properties\"");
    }
    ordered_json list = ordered_json::array();
    for (const auto& [name, schema] : properties.items()) {
      if (name.empty() || name.find_first_of("<>\n") != std::string::npos)
        refuse("properties: " + text_of(name) + ": expected a name without <, > and line breaks");
      ordered_json one = argument(name, schema, 0);
      const bool demanded = std::find(required.begin(), required.end(), name) != required.end();
      list.push_back(demanded ? std::move(one) : some("optional", std::move(one)));
    }
    if (list.empty()) return text("");
    return sequence(std::move(list));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw BadRequest(tool_.field, what); }

  ordered_json argument(const std::string& name, const ordered_json& schema, int depth) const {
    const ordered_json* const here = resolve_schema(schema, root_);
    if (here == nullptr || depth > kDeepestChoice)
      refuse("properties." + name + ": its references lead nowhere, or too far");
    const std::string begin = "<parameter=" + name + ">\n";
    if ((kinds_of_schema(*here, root_) & kJsonText) == 0) {
      ordered_json value = *here;
      for (const char* const key : {"$defs", "definitions"})
        if (value.is_object() && root_.contains(key)) value[key] = root_[key];
      return sequence({text(begin), json_schema(std::move(value), tool_.field), text(kEnd)});
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
        if (key != "type" && !is_one_of(key, kNotes))
          refuse("properties." + name + ": '" + key +
                 "' cannot be enforced: this model writes texts of calls without quotes");
      }
    }
    return tag(begin, {{"type", "any_text"}}, kEnd);
  }

  const Tool& tool_;
  const ordered_json& root_;
};

}  // namespace

ordered_json xml_arguments(const Tool& tool, bool enforced) {
  if (enforced) return XmlArguments(tool, parse_exact_json(tool.parameters.value_or("{}"))).all();
  return some("star", sequence({text("<parameter="),
                                {{"type", "regex"}, {"pattern", "[A-Za-z_][A-Za-z0-9_.-]{0,63}"}},
                                tag(">\n", {{"type", "any_text"}}, kEnd)}));
}

}  // namespace augur
