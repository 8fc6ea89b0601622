#include "server/fields/grammar_field.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/fields/request_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// The grammar of a body's fields.
std::optional<Grammar> grammar_of(const std::string& body) {
  RequestDraft draft;
  FieldNotes notes{.strict = true, .ignored = {}};
  read_object(grammar_fields(), "", parse_body(body, {}), notes, draft);
  return draft.request.grammar;
}

/// "FIELD" of the BadRequest.
std::string refusal_of(const std::string& body) {
  try {
    grammar_of(body);
  } catch (const BadRequest& error) {
    return error.field();
  }
  return "nothing";
}

TEST(GrammarField, EveryFormOfEveryApi) {
  const std::string schema = R"({"type":"object","properties":{"z":{},"a":{}}})";
  const struct {
    std::string body;
    GrammarKind kind;
    std::string text;
  } kForms[] = {
      {R"({"response_format": {"type": "json_object"}})", GrammarKind::Json, ""},
      {R"({"response_format": {"type": "json_object", "schema": )" + schema + "}}", GrammarKind::JsonSchema,
       schema},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": )" +
           schema + "}}}",
       GrammarKind::JsonSchema, schema},
      {R"({"structured_outputs": {"json": )" + schema + "}}", GrammarKind::JsonSchema, schema},
      {R"({"structured_outputs": {"json": "{}", "regex": null}})", GrammarKind::JsonSchema, "{}"},
      {R"({"structured_outputs": {"json_object": true}})", GrammarKind::Json, ""},
      {R"({"structured_outputs": {"regex": "a+"}})", GrammarKind::Regex, "a+"},
      {R"({"structured_outputs": {"grammar": "root ::= \"a\""}})", GrammarKind::Ebnf, "root ::= \"a\""},
      {R"({"structured_outputs": {"structural_tag": {"type": "structural_tag", "format": 1}}})",
       GrammarKind::StructuralTag, R"({"type":"structural_tag","format":1})"},
      {R"({"structured_outputs": {"choice": ["a\"\n", "b\\"]}})", GrammarKind::Ebnf,
       R"(root ::= "a\"\u000a" | "b\\")"},
      {R"({"guided_json": )" + schema + "}", GrammarKind::JsonSchema, schema},
      {R"({"guided_regex": "a+"})", GrammarKind::Regex, "a+"},
      {R"({"guided_grammar": "root ::= \"a\""})", GrammarKind::Ebnf, "root ::= \"a\""},
      {R"({"guided_choice": ["x"]})", GrammarKind::Ebnf, "root ::= \"x\""},
      {R"({"json_schema": )" + schema + "}", GrammarKind::JsonSchema, schema},
      {R"({"grammar": "root ::= \"a\""})", GrammarKind::Gbnf, "root ::= \"a\""},
  };
  for (const auto& form : kForms) {
    const std::optional<Grammar> grammar = grammar_of(form.body);
    ASSERT_TRUE(grammar) << form.body;
    EXPECT_EQ(grammar->kind, form.kind) << form.body;
    EXPECT_EQ(grammar->text, form.text) << form.body;
  }
  EXPECT_FALSE(grammar_of(R"({"response_format": {"type": "text"}})"));
}

TEST(GrammarField, WhatCannotBeIsNamed) {
  const std::pair<const char*, const char*> kRefused[] = {
      {R"({"response_format": "json"})", "response_format"},
      {R"({"response_format": {"type": "xml"}})", "response_format.type"},
      {R"({"response_format": {"type": "text", "schema": {}}})", "response_format.schema"},
      {R"({"response_format": {"type": "json_schema"}})", "response_format.json_schema"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}})",
       "response_format.json_schema.schema"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}}})",
       "response_format.json_schema.strict"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "other": 1}}})",
       "response_format.json_schema.other"},
      {R"({"structured_outputs": {"other": "x"}})", "structured_outputs.other"},
      {R"({"structured_outputs": {"structural_tag": ""}})", "structured_outputs.structural_tag"},
      {R"({"structured_outputs": {"regex": "a", "json_object": true}})", "structured_outputs.json_object"},
      {R"({"guided_json": 3})", "guided_json"},
      {R"({"guided_choice": []})", "guided_choice"},
      {R"({"guided_choice": ["a", 2]})", "guided_choice[1]"},
      {R"({"guided_choice": [""]})", "guided_choice[0]"},
      {R"({"grammar": ""})", "grammar"},
      {R"({"grammar": "root ::= \"a\"", "guided_regex": "a"})", "guided_regex"},
  };
  for (const auto& [body, field] : kRefused) EXPECT_EQ(refusal_of(body), field) << body;
}

/// "FIELD: grammar" of what "text" of the Responses API asks for, or the FIELD that is refused.
std::string text_format(const std::string& format) {
  Request request;
  const std::string body = R"({"text": {"format": )" + format + "}}";
  try {
    const ordered_json value = parse_body(body, {})["text"]["format"];
    FieldNotes notes{.strict = true, .ignored = {}};
    read_text_format({"text.format", value, notes}, request);
  } catch (const BadRequest& error) {
    return error.field();
  }
  return request.grammar ? request.grammar->field + ": " + request.grammar->text : "";
}

TEST(GrammarField, TextFormats) {
  EXPECT_EQ(text_format(R"({"type": "text"})"), "");
  EXPECT_EQ(text_format(R"({"type": "json_object"})"), "text.format: ");
  EXPECT_EQ(text_format(R"({"type": "json_schema", "name": "n", "strict": true, "schema": {"type": "object",
                            "properties": {"b": {}, "a": {}}}})"),
            R"(text.format.schema: {"type":"object","properties":{"b":{},"a":{}}})");
  EXPECT_EQ(text_format(R"({"type": "grammar"})"), "text.format.type");
  EXPECT_EQ(text_format(R"({"type": "json_schema", "name": "n"})"), "text.format.schema");
  EXPECT_EQ(text_format(R"({"type": "text", "schema": {}})"), "text.format.schema");
  EXPECT_EQ(text_format(R"({"type": "json_schema", "schema": {}, "strict": 1})"), "text.format.strict");
}

}  // namespace
}  // namespace augur
