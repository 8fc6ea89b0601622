#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/options.h"
#include "server/fields/json_fields.h"
#include "server/fields/request_defaults.h"
#include "server/limits.h"

namespace augur {

/// What a request's fields come to beside their values.
struct FieldNotes {
  bool strict = false;               ///< an unknown field is a BadRequest (--strict-fields)
  Limits limits = {};                ///< the server's
  RequestDefaults defaults = {};     ///< the server's
  std::vector<std::string> ignored;  ///< paths of unknown fields, in the order of the text
  // The model's, for fields that speak of tokens.
  std::int32_t vocab = 0;                                               ///< tokens that there are
  std::function<std::vector<TokenId>(std::string_view)> tokenize = {};  ///< a text within a prompt
};

/// What values a field takes: said in OpenAPI, and checked before its reader sees one.
struct FieldType {
  enum class Kind { Boolean, Integer, Number, Text, OneOf, Json };
  Kind kind = Kind::Json;
  std::int64_t lowest = 0;  ///< of an Integer
  std::int64_t highest = 0;
  /// A limit of the server: of an Integer its highest value, of a Text its bytes, of which it then has some.
  std::int64_t Limits::*limit = nullptr;
  double low = 0;  ///< of a Number
  double high = 0;
  /// OneOf: a JSON list of the values. Json: a JSON schema; the reader does the checks.
  std::string_view json = "{}";
  std::string_view pattern = {};  ///< of a Text

  static FieldType boolean() { return {.kind = Kind::Boolean}; }
  static FieldType integer(std::int64_t lowest, std::int64_t highest) {
    return {.kind = Kind::Integer, .lowest = lowest, .highest = highest};
  }
  static FieldType integer(std::int64_t lowest, std::int64_t Limits::*highest) {
    return {.kind = Kind::Integer, .lowest = lowest, .limit = highest};
  }
  static FieldType number(double low, double high) {
    return {.kind = Kind::Number, .low = low, .high = high};
  }
  static FieldType text() { return {.kind = Kind::Text}; }
  /// `pattern` is said in OpenAPI; the reader minds it.
  static FieldType text(std::int64_t Limits::*longest, std::string_view pattern = {}) {
    return {.kind = Kind::Text, .limit = longest, .pattern = pattern};
  }
  static FieldType one_of(std::string_view values) { return {.kind = Kind::OneOf, .json = values}; }
  static FieldType schema(std::string_view json) { return {.kind = Kind::Json, .json = json}; }
};

struct FieldSpec {
  std::string_view name;
  FieldType type;
  std::string_view description = {};
  bool required = false;
};

/// A value that fits its field's type.
struct FieldValue {
  const std::string& path;  ///< for messages: "stream_options.include_usage"
  const nlohmann::ordered_json& json;
  FieldNotes& notes;

  bool boolean() const { return json.get<bool>(); }
  std::int64_t integer() const { return json.get<std::int64_t>(); }
  double number() const { return json.get<double>(); }
  std::string text() const { return json.get<std::string>(); }
};

/// A field of an object that is read into a T.
template <class T>
struct Field : FieldSpec {
  std::function<void(const FieldValue& value, T& to)> read;
};

/// All fields of an object. From it come how the object is read, what is said of an unknown field, and its
/// schema.
template <class T>
using FieldTable = std::vector<Field<T>>;

/// Accepts what says nothing of the answer: who asks, and what other servers do with it.
template <class T>
Field<T> ignored_field(std::string_view name, FieldType type, std::string_view description = "ignored") {
  return {{name, type, description}, [](const FieldValue&, T&) {}};
}

/// Accepts these values alone (a JSON list), which ask for what is so here anyway.
template <class T>
Field<T> fixed_field(std::string_view name, std::string_view values, std::string_view description = {}) {
  return {{name, FieldType::one_of(values), description}, [](const FieldValue&, T&) {}};
}

/// Other servers' fields that ask for what this one does not do: any value but null is refused.
template <class T>
Field<T> absent_field(std::string_view name) {
  return fixed_field<T>(name, "[]", "not supported");
}

/// The fields of a part of a T, as fields of the T.
template <class T, class Part, class Find>
FieldTable<T> fields_of(const FieldTable<Part>& table, Find find) {
  FieldTable<T> to;
  for (const Field<Part>& field : table) {
    to.push_back(
        {static_cast<const FieldSpec&>(field),
         [read = field.read, find](const FieldValue& value, T& whole) { read(value, find(whole)); }});
  }
  return to;
}

/// One table of several; a later field takes the place of an earlier one of its name.
template <class T>
FieldTable<T> joined(std::initializer_list<FieldTable<T>> tables) {
  FieldTable<T> all;
  for (const FieldTable<T>& table : tables) {
    for (const Field<T>& field : table) {
      std::erase_if(all, [&](const Field<T>& known) { return known.name == field.name; });
      all.push_back(field);
    }
  }
  return all;
}

template <class T>
std::vector<const FieldSpec*> specs_of(const FieldTable<T>& table) {
  std::vector<const FieldSpec*> specs;
  for (const Field<T>& field : table) specs.push_back(&field);
  return specs;
}

template <class T>
std::vector<std::string_view> names_of(const FieldTable<T>& table) {
  std::vector<std::string_view> names;
  for (const Field<T>& field : table) names.push_back(field.name);
  return names;
}

/// BadRequest naming `path` for a value that does not fit.
void check_type(const std::string& path, const FieldType& type, const nlohmann::ordered_json& value,
                const Limits& limits);

/// A field that is not in its object's table: BadRequest where it may be meant for a known one, or where all
/// unknown ones are refused; otherwise it is noted.
void note_unknown(const std::string& path, std::string_view name, std::span<const std::string_view> known,
                  FieldNotes& notes);

/// The same for every member of an object that is not null and not named here.
void note_unknown_members(const std::string& path, const nlohmann::ordered_json& object,
                          std::initializer_list<std::string_view> known, FieldNotes& notes);

/// The JSON schema of an object with these fields, by the limits that a server has where none is set; null is
/// a field's default.
nlohmann::ordered_json object_schema(std::span<const FieldSpec* const> fields);

/// Walks the members of `object` by its table. Null means the default. `path`: of the object; empty: the
/// body. BadRequest for what is no object, does not fit its type, or is missing.
template <class T>
void read_object(const FieldTable<T>& table, const std::string& path, const nlohmann::ordered_json& object,
                 FieldNotes& notes, T& to) {
  if (!object.is_object()) unexpected(path, "an object");
  const auto path_of = [&](std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
  };
  std::vector<bool> found(table.size());
  for (const auto& [key, value] : object.items()) {
    const auto field = std::find_if(table.begin(), table.end(),
                                    [&name = key](const Field<T>& known) { return known.name == name; });
    if (field == table.end()) {
      note_unknown(path_of(key), key, names_of(table), notes);
      continue;
    }
    if (value.is_null()) continue;
    found[static_cast<std::size_t>(field - table.begin())] = true;
    const std::string at = path_of(key);
    check_type(at, field->type, value, notes.limits);
    field->read({at, value, notes}, to);
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].required && !found[i]) throw BadRequest(path_of(table[i].name), "is missing");
  }
}

}  // namespace augur
