#include "server/anthropic/anthropic_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "server/anthropic/anthropic_messages.h"
#include "server/fields/foreign_fields.h"
#include "server/fields/grammar_field.h"
#include "server/fields/json_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What a body is read into.
struct Draft {
  AnthropicRequest to;
  RequestDraft shared;
  std::string system;
  ordered_json choice;  ///< it is read when all tools are there
};

const FieldType kAnyObject = FieldType::schema(R"({"type": "object"})");

const FieldTable<Tool>& entry_fields() {
  static const FieldTable<Tool> table = [] {
    FieldTable<Tool> fields =
        joined<Tool>({function_fields("input_schema"),
                      {fixed_field<Tool>("type", R"(["custom"])"),
                       ignored_field<Tool>("cache_control", kAnyObject, "every prompt is cached")}});
    for (Field<Tool>& field : fields) field.required |= field.name == "input_schema";
    return fields;
  }();
  return table;
}

void read_tools(const FieldValue& value, Draft& to) {
  if (!value.json.is_array()) unexpected(value.path, "a list");
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", value.path, i);
    if (!value.json[i].is_object()) unexpected(at, "an object with name, description and input_schema");
    Tool& entry = to.to.tools.tools.emplace_back();
    entry.field = at + ".input_schema";
    read_object(entry_fields(), at, value.json[i], value.notes, entry);
  }
}

void read_tool_choice(const ordered_json& value, OfferedTools& to) {
  const ordered_json type = value.is_object() ? value.value("type", ordered_json()) : ordered_json();
  if (type != "auto" && type != "none" && type != "any" && type != "tool") {
    unexpected("tool_choice", R"({"type": "auto", "none", "any" or "tool"})");
  }
  for (const auto& [key, item] : value.items()) {
    if (key == "disable_parallel_tool_use") {
      to.parallel = !read_boolean("tool_choice." + key, item);
    } else if (key != "type" && (key != "name" || type != "tool")) {
      unsupported("tool_choice." + key);
    }
  }
  if (type == "tool") {
    if (!value.contains("name")) throw BadRequest("tool_choice.name", "is missing");
    return require_tool("tool_choice.name", value["name"], to);
  }
  read_tool_choice_word("tool_choice", type == "any" ? ordered_json("required") : type, to);
}

const FieldTable<Draft>& output_fields() {
  static const FieldTable<Draft> table = {
      {{"format", FieldType::schema(R"({"$ref": "#/components/schemas/TextFormat"})")},
       [](const FieldValue& v, Draft& to) { read_text_format(v, to.shared.request); }},
      {{"effort", FieldType::one_of(R"(["low", "medium", "high", "xhigh", "max"])")},
       [](const FieldValue& v, Draft& to) { wish_effort(v.text(), to.to.thoughts); }}};
  return table;
}

struct Thinking {
  std::string type;
  std::int64_t budget = -1;
};

void read_thinking(const FieldValue& value, Draft& to) {
  static const FieldTable<Thinking> fields = {
      {{"type", FieldType::one_of(R"(["enabled", "adaptive", "disabled"])"), {}, true},
       [](const FieldValue& v, Thinking& thinking) { thinking.type = v.text(); }},
      {{"budget_tokens", FieldType::integer(1, kMostTokens)},
       [](const FieldValue& v, Thinking& thinking) { thinking.budget = v.integer(); }},
      ignored_field<Thinking>("display", FieldType::text(), "thoughts are shown")};
  Thinking thinking;
  read_object(fields, value.path, value.json, value.notes, thinking);
  if (thinking.budget >= 0 && thinking.type != "enabled")
    throw BadRequest(value.path + ".budget_tokens", "goes with \"type\": \"enabled\"");
  to.to.thoughts.enabled = thinking.type != "disabled";
  if (thinking.budget >= 0) to.to.thoughts.most_tokens = thinking.budget;
}

const FieldTable<Draft>& count_fields() {
  static const FieldTable<Draft> table = joined<Draft>(
      {caller_fields<Draft>(),
       {{{"messages",
          FieldType::schema(
              R"({"type": "array", "items": {"$ref": "#/components/schemas/AnthropicMessage"}, "minItems": 1})"),
          {},
          true},
         [](const FieldValue& v, Draft& to) {
           to.shared.request.messages = read_anthropic_messages(v.json, v.notes);
         }},
        {{"model", FieldType::text()}, [](const FieldValue& v, Draft& to) { to.to.model = v.text(); }},
        {{"system", FieldType::schema(R"({"oneOf": [{"type": "string"},
            {"type": "array", "items": {"$ref": "#/components/schemas/TextBlock"}}]})")},
         [](const FieldValue& v, Draft& to) { to.system = read_anthropic_text(v.path, v.json, v.notes); }},
        {{"tools",
          FieldType::schema(R"({"type": "array", "items": {"$ref": "#/components/schemas/AnthropicTool"}})")},
         read_tools},
        {{"tool_choice", FieldType::schema(R"({"type": "object", "properties": {
            "type": {"enum": ["auto", "none", "any", "tool"]},
            "name": {"type": "string", "description": "with the type tool"},
            "disable_parallel_tool_use": {"type": "boolean"}}, "required": ["type"]})")},
         [](const FieldValue& v, Draft& to) { to.choice = v.json; }},
        {{"thinking", FieldType::schema(R"({"type": "object", "properties": {
            "type": {"enum": ["enabled", "adaptive", "disabled"]},
            "budget_tokens": {"type": "integer", "minimum": 1}}, "required": ["type"]})"),
          "budget_tokens: of thoughts at most"},
         read_thinking},
        ignored_field<Draft>("cache_control", kAnyObject, "every prompt is cached"),
        {{"output_config", FieldType::schema(R"({"type": "object", "properties": {
            "format": {"$ref": "#/components/schemas/TextFormat"},
            "effort": {"enum": ["low", "medium", "high", "xhigh", "max"]}}})"),
          "effort: for the chat template"},
         [](const FieldValue& v, Draft& to) { read_object(output_fields(), v.path, v.json, v.notes, to); }},
        fixed_field<Draft>("mcp_servers", "[[]]"),
        absent_field<Draft>("container"),
        absent_field<Draft>("context_management")}});
  return table;
}

const FieldTable<Draft>& message_fields() {
  static const auto shared = [](Draft& draft) -> RequestDraft& { return draft.shared; };
  static const FieldTable<Draft> table =
      joined<Draft>({fields_of<Draft>(sampling_fields(), shared),
                     fields_of<Draft>(cache_fields(), shared),
                     count_fields(),
                     {{{"max_tokens", FieldType::integer(0, kMostTokens), {}, true},
                       [](const FieldValue& v, Draft& to) { to.shared.request.max_tokens = v.integer(); }},
                      {{"stop_sequences", FieldType::schema(R"({"type": "array",
            "items": {"type": "string", "minLength": 1}, "maxItems": 16})")},
                       [](const FieldValue& v, Draft& to) {
                         if (!v.json.is_array()) unexpected(v.path, "a list of strings");
                         to.shared.request.stop = read_stops(v.path, v.json, v.notes.limits);
                       }},
                      absent_field<Draft>("stop"),
                      {{"stream", FieldType::boolean()},
                       [](const FieldValue& v, Draft& to) { to.to.stream = v.boolean(); }}}});
  return table;
}

const FieldTable<Draft>& fields(AnthropicEndpoint endpoint) {
  return endpoint == AnthropicEndpoint::CountTokens ? count_fields() : message_fields();
}

}  // namespace

AnthropicRequest parse_anthropic_request(AnthropicEndpoint endpoint, std::string_view text,
                                         const SpeculationPlan& plan, FieldNotes& notes) {
  Draft draft;
  draft.shared.request.sampling.temperature = 1;
  lay_defaults(notes.defaults, draft.shared);
  draft.to.thoughts = default_wishes(notes.defaults);
  read_object(fields(endpoint), "", parse_body(text, notes.limits), notes, draft);
  AnthropicRequest& to = draft.to;
  to.request = finish_draft(draft.shared, plan);
  if (!draft.system.empty()) {
    to.request.messages.insert(to.request.messages.begin(),
                               {.role = "system", .content = std::move(draft.system)});
  }
  if (!draft.choice.is_null()) read_tool_choice(draft.choice, to.tools);
  return std::move(to);
}

ordered_json anthropic_schema(AnthropicEndpoint endpoint) {
  return object_schema(specs_of(fields(endpoint)));
}
ordered_json anthropic_tool_schema() {
  return object_schema(specs_of(entry_fields()));
}

}  // namespace augur
