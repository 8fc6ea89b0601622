#include "server/fields/grammar_field.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "server/fields/json_fields.h"

namespace augur {
namespace {

using nlohmann::json;

void set(const std::string& field, Grammar grammar, Request& request) {
  if (request.grammar)
    throw BadRequest(field, "a request has one grammar, and there is another field with one");
  request.grammar = std::move(grammar);
  if (request.grammar->field.empty()) request.grammar->field = field;
}

Grammar text_grammar(const std::string& field, GrammarKind kind, const json& value) {
  Grammar grammar{.kind = kind, .text = read_string(field, value), .field = field};
  if (grammar.text.empty()) unexpected(field, "a text that is not empty");
  return grammar;
}

Grammar any_json(const std::string& field) {
  return {.kind = GrammarKind::Json, .text = {}, .field = field};
}

/// A schema, or its text.
Grammar schema_or_text(const std::string& field, const json& value, std::string_view body,
                       const std::string& pointer) {
  return value.is_string() ? text_grammar(field, GrammarKind::JsonSchema, value)
                           : schema_grammar(field, body, pointer);
}

/// What stands beside a schema and changes nothing. False: it is none of these.
bool read_schema_remark(const std::string& field, const std::string& key, const json& value) {
  const std::string at = field + "." + key;
  if (key == "name" || key == "description") {
    if (!value.is_null()) read_string(at, value);
  } else if (key == "strict") {
    if (!value.is_null()) read_boolean(at, value);  // schemas are always enforced
  } else {
    return false;
  }
  return true;
}

void read_response_format(const json& value, std::string_view body, Request& request) {
  const std::string field = "response_format";
  if (!value.is_object()) unexpected(field, "an object with a type");
  const std::string type = value.contains("type") ? read_string(field + ".type", value["type"]) : "";
  if (type != "text" && type != "json_object" && type != "json_schema") {
    unexpected(field + ".type", "text, json_object or json_schema");
  }
  // llama.cpp's json_object may have a schema.
  const bool plain_schema = type == "json_object" && value.contains("schema");
  for (const auto& [key, item] : value.items()) {
    const bool known =
        key == "type" || (type == "json_schema" && key == type) || (plain_schema && key == "schema");
    if (!known) unsupported(field + "." + key);
  }
  if (plain_schema)
    return set(field, schema_grammar(field + ".schema", body, "/response_format/schema"), request);
  if (type == "json_object") return set(field, any_json(field), request);
  if (type == "text") return;
  const std::string inner = field + ".json_schema";
  if (!value.contains(type) || !value[type].is_object()) unexpected(inner, "an object with a schema");
  for (const auto& [key, item] : value[type].items()) {
    if (!read_schema_remark(inner, key, item) && key != "schema") unsupported(inner + "." + key);
  }
  set(field, schema_grammar(inner + ".schema", body, "/response_format/json_schema/schema"), request);
}

void read_structured_outputs(const json& value, std::string_view body, Request& request) {
  const std::string field = "structured_outputs";
  if (!value.is_object())
    unexpected(field, "an object with json, json_object, regex, grammar, structural_tag or choice");
  for (const auto& [key, item] : value.items()) {
    const std::string at = field + "." + key;
    if (item.is_null()) continue;
    if (key == "json") {
      set(at, schema_or_text(at, item, body, "/structured_outputs/json"), request);
    } else if (key == "json_object") {
      if (read_boolean(at, item)) set(at, any_json(at), request);
    } else if (key == "regex") {
      set(at, text_grammar(at, GrammarKind::Regex, item), request);
    } else if (key == "grammar") {
      set(at, text_grammar(at, GrammarKind::Ebnf, item), request);
    } else if (key == "structural_tag") {
      set(at,
          item.is_string()
              ? text_grammar(at, GrammarKind::StructuralTag, item)
              : Grammar{.kind = GrammarKind::StructuralTag,
                        .text = nlohmann::ordered_json::parse(body)["structured_outputs"][key].dump(),
                        .field = at},
          request);
    } else if (key == "choice") {
      set(at, choice_grammar(at, item), request);
    } else {
      unsupported(at);
    }
  }
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

Grammar schema_grammar(const std::string& field, std::string_view body, const std::string& pointer) {
  const auto ordered = nlohmann::ordered_json::parse(body);
  const nlohmann::ordered_json::json_pointer at(pointer);
  if (!ordered.contains(at) || !ordered[at].is_object()) unexpected(field, "a JSON schema");
  return {.kind = GrammarKind::JsonSchema, .text = ordered[at].dump(), .field = field};
}

Grammar choice_grammar(const std::string& field, const json& texts) {
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

void read_text_format(const json& value, std::string_view body, Request& request) {
  const std::string field = "text.format";
  if (!value.is_object()) unexpected(field, "an object with a type");
  const std::string type = value.contains("type") ? read_string(field + ".type", value["type"]) : "";
  if (type != "text" && type != "json_object" && type != "json_schema") {
    unexpected(field + ".type", "text, json_object or json_schema");
  }
  for (const auto& [key, item] : value.items()) {
    const bool of_schema = type == "json_schema" && (key == "schema" || read_schema_remark(field, key, item));
    if (key != "type" && !of_schema) unsupported(field + "." + key);
  }
  if (type == "json_object") set(field, any_json(field), request);
  if (type == "json_schema") {
    set(field, schema_grammar(field + ".schema", body, "/text/format/schema"), request);
  }
}

bool read_grammar_field(const std::string& key, const json& value, std::string_view body, Request& request) {
  if (key == "response_format") {
    read_response_format(value, body, request);
  } else if (key == "structured_outputs") {
    read_structured_outputs(value, body, request);
  } else if (key == "guided_json") {
    set(key, schema_or_text(key, value, body, "/guided_json"), request);
  } else if (key == "json_schema") {
    set(key, schema_grammar(key, body, "/json_schema"), request);
  } else if (key == "guided_regex") {
    set(key, text_grammar(key, GrammarKind::Regex, value), request);
  } else if (key == "guided_grammar") {
    set(key, text_grammar(key, GrammarKind::Ebnf, value), request);
  } else if (key == "grammar") {
    set(key, text_grammar(key, GrammarKind::Gbnf, value), request);
  } else if (key == "guided_choice") {
    set(key, choice_grammar(key, value), request);
  } else {
    return false;
  }
  return true;
}

}  // namespace augur
