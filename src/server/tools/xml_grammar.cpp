#include "server/tools/xml_grammar.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/tools/argument_schemas.h"
#include "server/tools/argument_types.h"
#include "server/tools/tag_formats.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using namespace tag_formats;

constexpr int kDeepestChoice = 8;

/// What ends an argument.
std::string argument_end(const CallTags& tags) {
  return (tags.lines ? "\n" : "") + std::string(tags.value_end) + (tags.compact ? "" : "\n");
}

/// An argument called `name`. `value` makes the rest of it to its end, from the text that comes before it.
template <class Value>
ordered_json argument_of(const CallTags& tags, ordered_json name, const Value& value) {
  ordered_json parts = ordered_json::array();
  parts.push_back(text(tags.argument));
  parts.push_back(std::move(name));
  std::string before(tags.argument_end);
  if (!tags.value.empty()) {
    parts.push_back(text(std::exchange(before, std::string(tags.value))));
    parts.push_back(line_break(tags));
  }
  parts.push_back(value(before + (tags.lines ? "\n" : "")));
  if (tags.compact) parts.push_back(line_break(tags));
  return sequence(std::move(parts));
}

/// Any text as the value.
ordered_json any_value(const CallTags& tags, ordered_json name) {
  return argument_of(tags, std::move(name), [&](const std::string& before) {
    return tag(before, {{"type", "any_text"}}, argument_end(tags));
  });
}

class XmlArguments {
 public:
  XmlArguments(const Tool& tool, const CallTags& tags)
      : tool_(tool), tags_(tags), arguments_(argument_schemas(tool)) {}

  ordered_json all() const {
    ordered_json list = ordered_json::array();
    for (const ArgumentSchema& one : arguments_.list) {
      const std::string none = "<>\n" + std::string(tags_.argument_end.substr(0, 1));
      if (one.name.empty() || one.name.find_first_of(none) != std::string::npos)
        refuse("properties: " + text_of(one.name) + ": expected a name without " +
               (none.back() == '"' ? "quotes, " : "") + "<, > and line breaks");
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
    const auto with = [&](const ordered_json& value) {
      return argument_of(tags_, text(name), [&](const std::string& before) {
        return sequence({text(before), value, text(argument_end(tags_))});
      });
    };
    if ((kinds_of_schema(*here, arguments_.root) & kJsonText) == 0) {
      return with(json_schema(arguments_.with_definitions(*here), tool_.field));
    }
    // Texts are written without quotes.
    const auto written = [&](const ordered_json& value) {
      const std::string raw = value.is_string() ? value.get<std::string>() : text_of(value);
      return with(text(raw));
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
    return any_value(tags_, text(name));
  }

  const Tool& tool_;
  const CallTags& tags_;
  const ArgumentSchemas arguments_;
};

}  // namespace

ordered_json line_break(const CallTags& tags) {
  return tags.compact ? some("optional", text("\n")) : text("\n");
}

ordered_json xml_arguments(const Tool& tool, const CallTags& tags, bool enforced) {
  if (enforced) return XmlArguments(tool, tags).all();
  return some("star", any_value(tags, {{"type", "regex"}, {"pattern", "[A-Za-z_][A-Za-z0-9_.-]{0,63}"}}));
}

}  // namespace augur
