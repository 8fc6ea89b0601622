#include "server/responses/responses_request.h"

#include <fmt/format.h>

#include <utility>

#include "server/fields/foreign_fields.h"
#include "server/fields/grammar_field.h"
#include "server/fields/json_fields.h"
#include "server/responses/responses_input.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What a body is read into.
struct Draft {
  ResponsesRequest to;
  RequestDraft shared;
  std::string instructions;
  ordered_json choice;  ///< it is read when all tools are there
};

const FieldTable<Tool>& entry_fields() {
  static const FieldTable<Tool> table =
      joined<Tool>({function_fields("parameters"), {fixed_field<Tool>("type", R"(["function"])")}});
  return table;
}

void read_tools(const FieldValue& value, Draft& to) {
  if (!value.json.is_array()) unexpected(value.path, "a list");
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", value.path, i);
    const ordered_json& tool = value.json[i];
    if (!tool.is_object() || tool.value("type", ordered_json()) != "function") {
      unexpected(at, R"({"type": "function", "name", "description", "parameters"})");
    }
    Tool& entry = to.to.tools.tools.emplace_back();
    entry.field = at + ".parameters";
    read_object(entry_fields(), at, tool, value.notes, entry);
  }
}

void read_tool_choice(const ordered_json& value, OfferedTools& to) {
  const std::string field = "tool_choice";
  if (read_tool_choice_word(field, value, to)) return;
  if (!value.is_object() || value.size() != 2 || value.value("type", ordered_json()) != "function" ||
      !value.contains("name")) {
    unexpected(field, R"("none", "auto", "required" or {"type": "function", "name"})");
  }
  require_tool(field + ".name", value["name"], to);
}

const FieldTable<Request>& text_fields() {
  static const FieldTable<Request> table = {
      {{"format", FieldType::schema(R"({"$ref": "#/components/schemas/TextFormat"})")}, read_text_format},
      fixed_field<Request>("verbosity", R"(["medium"])")};
  return table;
}

const FieldTable<ThoughtWishes>& reasoning_fields() {
  static const FieldTable<ThoughtWishes> table = {
      {{"effort", FieldType::one_of(kEfforts)},
       [](const FieldValue& v, ThoughtWishes& to) { wish_effort(v.text(), to); }},
      ignored_field<ThoughtWishes>("summary", FieldType::text(), "thoughts are told as they are"),
      ignored_field<ThoughtWishes>("generate_summary", FieldType::text(), "its older name")};
  return table;
}

/// Of what could be included, answers have only encrypted reasoning, and never anything in it.
void check_include(const FieldValue& value, Draft&) {
  if (!value.json.is_array()) unexpected(value.path, "a list");
  for (const ordered_json& item : value.json) {
    if (item != "reasoning.encrypted_content") unsupported(value.path);
  }
}

/// A way to go on from what was stored.
Field<Draft> stored(std::string_view name) {
  return {{name, FieldType::schema(R"({"type": "null"})"), "nothing is stored"},
          [](const FieldValue& v, Draft&) {
            throw BadRequest(v.path, "this server stores nothing: send the whole conversation as \"input\"");
          }};
}

const FieldTable<Draft>& fields() {
  static const auto shared = [](Draft& draft) -> RequestDraft& { return draft.shared; };
  static const FieldTable<Draft> table = joined<Draft>(
      {fields_of<Draft>(sampling_fields(), shared),
       fields_of<Draft>(stop_fields(), shared),
       fields_of<Draft>(cache_fields(), shared),
       fields_of<Draft>(stream_fields(), [](Draft& draft) -> AnswerWishes& { return draft.to.wishes; }),
       caller_fields<Draft>(),
       {{{"input",
          FieldType::schema(R"({"oneOf": [{"type": "string"}, {"type": "array",
            "items": {"$ref": "#/components/schemas/ResponsesItem"}, "minItems": 1}]})"),
          {},
          true},
         [](const FieldValue& v, Draft& to) {
           to.shared.request.messages = read_responses_input(v.json, v.notes);
         }},
        {{"model", FieldType::text()}, [](const FieldValue& v, Draft& to) { to.to.model = v.text(); }},
        {{"instructions", FieldType::text()},
         [](const FieldValue& v, Draft& to) { to.instructions = v.text(); }},
        {{"max_output_tokens", FieldType::integer(1, kMostTokens)},
         [](const FieldValue& v, Draft& to) { to.shared.request.max_tokens = v.integer(); }},
        {{"stream", FieldType::boolean()},
         [](const FieldValue& v, Draft& to) { to.to.stream = v.boolean(); }},
        {{"tools",
          FieldType::schema(R"({"type": "array", "items": {"$ref": "#/components/schemas/ResponsesTool"}})")},
         read_tools},
        {{"tool_choice", FieldType::schema(R"({"anyOf": [{"enum": ["none", "auto", "required"]},
            {"type": "object", "properties": {"type": {"const": "function"}, "name": {"type": "string"}},
             "required": ["type", "name"]}]})")},
         [](const FieldValue& v, Draft& to) { to.choice = v.json; }},
        {{"parallel_tool_calls", FieldType::boolean()},
         [](const FieldValue& v, Draft& to) { to.to.tools.parallel = v.boolean(); }},
        {{"text", FieldType::schema(R"({"type": "object", "properties": {
            "format": {"$ref": "#/components/schemas/TextFormat"}}})")},
         [](const FieldValue& v, Draft& to) {
           read_object(text_fields(), v.path, v.json, v.notes, to.shared.request);
         }},
        {{"include",
          FieldType::schema(R"({"type": "array", "items": {"const": "reasoning.encrypted_content"}})")},
         check_include},
        fixed_field<Draft>("background", "[false]"),
        fixed_field<Draft>("truncation", R"(["disabled"])"),
        {{"reasoning", FieldType::schema(R"({"type": "object", "properties": {
            "effort": {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max", null]},
            "summary": {"type": ["string", "null"]}}})"),
          "effort: for the chat template; none: nothing is thought"},
         [](const FieldValue& v, Draft& to) {
           read_object(reasoning_fields(), v.path, v.json, v.notes, to.to.thoughts);
         }},
        fixed_field<Draft>("top_logprobs", "[0]"),
        absent_field<Draft>("max_tool_calls"),
        ignored_field<Draft>("stream_options", FieldType::schema(R"({"type": "object"})")),
        stored("previous_response_id"),
        stored("conversation"),
        stored("prompt")}});
  return table;
}

}  // namespace

ResponsesRequest parse_responses_request(std::string_view text, const SpeculationPlan& plan,
                                         FieldNotes& notes) {
  const ordered_json body = parse_body(text, notes.limits);
  Draft draft;
  draft.shared.request.sampling.temperature = 1;
  lay_defaults(notes.defaults, draft.shared);
  draft.to.thoughts = default_wishes(notes.defaults);
  read_object(fields(), "", body, notes, draft);
  ResponsesRequest& to = draft.to;
  to.request = finish_draft(draft.shared, plan);
  if (!draft.instructions.empty()) {
    to.request.messages.insert(to.request.messages.begin(),
                               {.role = "system", .content = draft.instructions});
  }
  if (!draft.choice.is_null()) read_tool_choice(draft.choice, to.tools);
  const auto repeat = [&](const char* key, const ordered_json& otherwise) {
    const auto found = body.find(key);
    to.echo[key] = found == body.end() || found->is_null() ? otherwise : *found;
  };
  for (const char* key : {"instructions", "max_output_tokens", "user"}) repeat(key, nullptr);
  repeat("metadata", ordered_json::object());
  repeat("parallel_tool_calls", true);
  repeat("temperature", 1.0);
  repeat("top_p", 1.0);
  repeat("tool_choice", "auto");
  repeat("tools", ordered_json::array());
  repeat("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  repeat("text", ordered_json::object());
  if (!to.echo["text"].contains("format") || to.echo["text"]["format"].is_null()) {
    to.echo["text"]["format"] = {{"type", "text"}};
  }
  return std::move(to);
}

ordered_json responses_schema() {
  return object_schema(specs_of(fields()));
}
ordered_json responses_tool_schema() {
  return object_schema(specs_of(entry_fields()));
}

}  // namespace augur
