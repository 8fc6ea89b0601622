#include "server/fields/grammar_field.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "files/big_integers.h"
#include "server/fields/request_fields.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using Draft = RequestDraft;

void set(const std::string& field, Grammar grammar, Request& request) {
  if (request.grammar)
    throw BadRequest(field, "a request has one grammar, and there is another field with one");
  request.grammar = std::move(grammar);
  if (request.grammar->field.empty()) request.grammar->field = field;
}

Grammar text_grammar(const std::string& field, GrammarKind kind, const ordered_json& value) {
  Grammar grammar{.kind = kind, .text = read_string(field, value), .field = field};
  if (grammar.text.empty()) unexpected(field, "a text that is not empty");
  return grammar;
}

Grammar any_json(const std::string& field) {
  return {.kind = GrammarKind::Json, .text = {}, .field = field};
}

/// A schema, or its text.
Grammar schema_or_text(const std::string& field, const ordered_json& value) {
  return value.is_string() ? text_grammar(field, GrammarKind::JsonSchema, value)
                           : schema_grammar(field, value);
}

/// response_format, what stands in its json_schema, and text.format, which has both in one.
struct Format {
  std::string type;
  std::optional<ordered_json> schema;       ///< beside the type
  std::optional<ordered_json> json_schema;  ///< the object around a schema
};

constexpr std::string_view kSchema = R"({"type": "object", "description": "a JSON schema"})";

template <class T>
FieldTable<T> schema_remarks() {
  return {ignored_field<T>("name", FieldType::text()), ignored_field<T>("description", FieldType::text()),
          ignored_field<T>("strict", FieldType::boolean(), "schemas are always enforced")};
}

const FieldTable<Format>& format_type_fields() {
  static const FieldTable<Format> table = {
      {{"type", FieldType::schema(R"({"enum": ["text", "json_object", "json_schema"]})"), {}, true},
       [](const FieldValue& v, Format& to) {
         to.type = v.json.is_string() ? v.text() : std::string();
         if (to.type != "text" && to.type != "json_object" && to.type != "json_schema") {
           unexpected(v.path, "text, json_object or json_schema");
         }
       }},
      {{"schema", FieldType::schema(kSchema)}, [](const FieldValue& v, Format& to) { to.schema = v.json; }}};
  return table;
}

void read_response_format(const FieldValue& value, Draft& to) {
  static const FieldTable<Format> table =
      joined<Format>({format_type_fields(),
                      {{{"json_schema", FieldType::schema(R"({"type": "object"})"), {}},
                        [](const FieldValue& v, Format& format) { format.json_schema = v.json; }}}});
  static const FieldTable<Format> inner_table =
      joined<Format>({schema_remarks<Format>(),
                      {{{"schema", FieldType::schema(kSchema), {}, true},
                        [](const FieldValue& v, Format& format) { format.schema = v.json; }}}});
  const std::string& field = value.path;
  Format format;
  if (!value.json.is_object()) unexpected(field, "an object with a type");
  read_object(table, field, value.json, value.notes, format);
  if (format.json_schema && format.type != "json_schema") unsupported(field + ".json_schema");
  if (format.schema && format.type != "json_object") unsupported(field + ".schema");
  if (format.schema) return set(field, schema_grammar(field + ".schema", *format.schema), to.request);
  if (format.type == "json_object") return set(field, any_json(field), to.request);
  if (format.type == "text") return;
  const std::string inner = field + ".json_schema";
  if (!format.json_schema || !format.json_schema->is_object()) unexpected(inner, "an object with a schema");
  Format schema;
  read_object(inner_table, inner, *format.json_schema, value.notes, schema);
  set(field, schema_grammar(inner + ".schema", *schema.schema), to.request);
}

Field<Draft> text_field(std::string_view name, GrammarKind kind) {
  return {{name, FieldType::text()}, [kind](const FieldValue& v, Draft& to) {
            set(v.path, text_grammar(v.path, kind, v.json), to.request);
          }};
}

constexpr std::string_view kSchemaOrText = R"({"type": ["object", "string"]})";
constexpr std::string_view kTexts = R"({"type": "array", "items": {"type": "string", "minLength": 1},
  "minItems": 1})";

void read_schema_or_text(const FieldValue& value, Draft& to) {
  set(value.path, schema_or_text(value.path, value.json), to.request);
}

void read_choice(const FieldValue& value, Draft& to) {
  set(value.path, choice_grammar(value.path, value.json), to.request);
}

void read_structural_tag(const FieldValue& value, Draft& to) {
  set(value.path,
      value.json.is_string() ? text_grammar(value.path, GrammarKind::StructuralTag, value.json)
                             : Grammar{.kind = GrammarKind::StructuralTag,
                                       .text = write_exact_json(value.json),
                                       .field = value.path},
      to.request);
}

const FieldTable<Draft>& structured_output_fields() {
  static const FieldTable<Draft> table = {
      {{"json", FieldType::schema(kSchemaOrText)}, read_schema_or_text},
      {{"json_object", FieldType::boolean()},
       [](const FieldValue& v, Draft& to) {
         if (v.boolean()) set(v.path, any_json(v.path), to.request);
       }},
      text_field("regex", GrammarKind::Regex),
      text_field("grammar", GrammarKind::Ebnf),
      {{"structural_tag", FieldType::schema(kSchemaOrText)}, read_structural_tag},
      {{"choice", FieldType::schema(kTexts)}, read_choice},
      fixed_field<Draft>("disable_fallback", "[true, false]"),
      fixed_field<Draft>("disable_any_whitespace", "[false]"),
      fixed_field<Draft>("disable_additional_properties", "[false]"),
      absent_field<Draft>("whitespace_pattern"),
  };
  return table;
}

/// A text as a grammar writes it.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u00{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

Grammar schema_grammar(const std::string& field, const ordered_json& value) {
  if (!value.is_object()) unexpected(field, "a JSON schema");
  return {.kind = GrammarKind::JsonSchema, .text = write_exact_json(value), .field = field};
}

Grammar choice_grammar(const std::string& field, const ordered_json& texts) {
  if (!texts.is_array() || texts.empty()) unexpected(field, "a list of texts that is not empty");
  Grammar grammar{.kind = GrammarKind::Ebnf, .text = "root ::= ", .field = field};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    const std::string text = read_string(at, texts[i]);
    if (text.empty()) unexpected(at, "a text that is not empty");
    grammar.text += (i == 0 ? "" : " | ") + quoted(text);
  }
  return grammar;
}

void read_text_format(const FieldValue& value, Request& request) {
  static const FieldTable<Format> table = joined<Format>({format_type_fields(), schema_remarks<Format>()});
  const std::string& field = value.path;
  if (!value.json.is_object()) unexpected(field, "an object with a type");
  Format format;
  read_object(table, field, value.json, value.notes, format);
  if (format.schema && format.type != "json_schema") unsupported(field + ".schema");
  if (format.type == "json_object") set(field, any_json(field), request);
  if (format.type != "json_schema") return;
  if (!format.schema) unexpected(field + ".schema", "a JSON schema");
  set(field, schema_grammar(field + ".schema", *format.schema), request);
}

void read_gbnf(const FieldValue& value, Draft& to) {
  set(value.path, text_grammar(value.path, GrammarKind::Gbnf, value.json), to.request);
}

const FieldTable<Draft>& grammar_fields() {
  static const FieldTable<Draft> table = {
      {{"response_format", FieldType::schema(R"({"$ref": "#/components/schemas/ResponseFormat"})")},
       read_response_format},
      {{"structured_outputs", FieldType::schema(R"({"type": "object"})"), "as vLLM has it"},
       [](const FieldValue& v, Draft& to) {
         read_object(structured_output_fields(), v.path, v.json, v.notes, to);
       }},
      {{"guided_json", FieldType::schema(kSchemaOrText)}, read_schema_or_text},
      {{"json_schema", FieldType::schema(kSchema)},
       [](const FieldValue& v, Draft& to) { set(v.path, schema_grammar(v.path, v.json), to.request); }},
      text_field("guided_regex", GrammarKind::Regex),
      text_field("guided_grammar", GrammarKind::Ebnf),
      {{"grammar", FieldType::text()}, read_gbnf},
      {{"guided_choice", FieldType::schema(kTexts)}, read_choice},
  };
  return table;
}

}  // namespace augur
