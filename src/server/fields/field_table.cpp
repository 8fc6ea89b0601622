#include "server/fields/field_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace augur {
namespace {

using nlohmann::ordered_json;
using Kind = FieldType::Kind;

/// Letters to put in, leave out, replace or swap with their neighbour to make one word of the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The known name that was probably meant: within two edits, which are less than half of it. Empty: none.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kMostEdits = 2;
  std::string_view best;
  std::size_t fewest = kMostEdits + 1;
  for (const std::string_view word : known) {
    if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) > kMostEdits) continue;
    const std::size_t distance = edits(name, word);
    if (distance < fewest && 2 * distance < word.size()) {
      fewest = distance;
      best = word;
    }
  }
  return best;
}

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

ordered_json type_schema(const FieldType& type) {
  switch (type.kind) {
    case Kind::Boolean:
      return {{"type", "boolean"}};
    case Kind::Integer:
      return {{"type", "integer"}, {"minimum", type.lowest}, {"maximum", type.highest}};
    case Kind::Number:
      return {{"type", "number"}, {"minimum", type.low}, {"maximum", type.high}};
    case Kind::Text:
      return {{"type", "string"}};
    case Kind::OneOf:
    case Kind::Json:
      break;
  }
  ordered_json given = ordered_json::parse(type.json);
  if (type.kind == Kind::Json) return given;
  return given.empty() ? ordered_json{{"type", "null"}} : ordered_json{{"enum", std::move(given)}};
}

}  // namespace

void check_type(const std::string& path, const FieldType& type, const ordered_json& value) {
  switch (type.kind) {
    case Kind::Boolean:
      read_boolean(path, value);
      break;
    case Kind::Integer:
      read_integer(path, value, type.lowest, type.highest);
      break;
    case Kind::Number:
      read_number(path, value, type.low, type.high);
      break;
    case Kind::Text:
      read_string(path, value);
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
  if (const std::string_view meant = nearest(name, known); !meant.empty()) {
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
