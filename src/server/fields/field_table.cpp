#include "server/fields/field_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/similar_word.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using Kind = FieldType::Kind;

std::string words(const ordered_json& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i].dump();
  }
  return text;
}

void check_one_of(const std::string& path, std::string_view json, const ordered_json& value) {
  const ordered_json values = ordered_json::parse(json);
  if (values.empty()) unsupported(path);
  if (std::find(values.begin(), values.end(), value) != values.end()) return;
  unexpected(path, words(values) + ": this server does not support anything else");
}

void check_text(const std::string& path, const FieldType& type, const ordered_json& value,
                const Limits& limits) {
  const std::string text = read_string(path, value);
  if (type.limit == nullptr) return;
  const std::int64_t most = limits.*type.limit;
  if (text.empty() || std::ssize(text) > most) {
    unexpected(path, fmt::format("a string of 1 to {} bytes", most));
  }
}

ordered_json text_schema(const FieldType& type) {
  ordered_json schema = {{"type", "string"}};
  if (type.limit != nullptr) schema.update({{"minLength", 1}, {"maxLength", Limits{}.*type.limit}});
  if (!type.pattern.empty()) schema["pattern"] = type.pattern;
  return schema;
}

std::int64_t highest_of(const FieldType& integer, const Limits& limits) {
  return integer.limit == nullptr ? integer.highest : limits.*integer.limit;
}

ordered_json type_schema(const FieldType& type) {
  switch (type.kind) {
    case Kind::Boolean:
      return {{"type", "boolean"}};
    case Kind::Integer:
      return {{"type", "integer"}, {"minimum", type.lowest}, {"maximum", highest_of(type, Limits{})}};
    case Kind::Number:
      return {{"type", "number"}, {"minimum", type.low}, {"maximum", type.high}};
    case Kind::Text:
      return text_schema(type);
    case Kind::OneOf:
    case Kind::Json:
      break;
  }
  ordered_json given = ordered_json::parse(type.json);
  if (type.kind == Kind::Json) return given;
  return given.empty() ? ordered_json{{"type", "null"}} : ordered_json{{"enum", std::move(given)}};
}

}  // namespace

void check_type(const std::string& path, const FieldType& type, const ordered_json& value,
                const Limits& limits) {
  switch (type.kind) {
    case Kind::Boolean:
      read_boolean(path, value);
      break;
    case Kind::Integer:
      read_integer(path, value, type.lowest, highest_of(type, limits));
      break;
    case Kind::Number:
      read_number(path, value, type.low, type.high);
      break;
    case Kind::Text:
      check_text(path, type, value, limits);
      break;
    case Kind::OneOf:
      check_one_of(path, type.json, value);
      break;
    case Kind::Json:
      break;
  }
}

void note_unknown(const std::string& path, std::string_view name, std::span<const std::string_view> known,
                  FieldNotes& notes) {
  if (std::ssize(notes.ignored) >= notes.limits.unknown_fields) {
    throw BadRequest(path, fmt::format("is not known, nor are {} others", notes.ignored.size()));
  }
  if (const std::string_view meant = similar_word(name, known); !meant.empty()) {
    throw BadRequest(path, fmt::format("is not known: did you mean '{}'?", meant));
  }
  if (notes.strict) throw BadRequest(path, "is not known: this server does not support it");
  notes.ignored.push_back(path);
}

void note_unknown_members(const std::string& path, const ordered_json& object,
                          std::initializer_list<std::string_view> known, FieldNotes& notes) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || std::find(known.begin(), known.end(), key) != known.end()) continue;
    note_unknown(path + "." + key, key, known, notes);
  }
}

ordered_json object_schema(std::span<const FieldSpec* const> fields) {
  ordered_json properties = ordered_json::object();
  ordered_json required = ordered_json::array();
  for (const FieldSpec* field : fields) {
    ordered_json schema = type_schema(field->type);
    if (field->required) {
      required.push_back(field->name);
    } else {
      schema = {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
    }
    if (!field->description.empty()) schema["description"] = field->description;
    properties[std::string(field->name)] = std::move(schema);
  }
  ordered_json object = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) object["required"] = std::move(required);
  return object;
}

}  // namespace augur
