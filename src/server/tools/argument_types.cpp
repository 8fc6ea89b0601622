#include "server/tools/argument_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "files/big_integers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

constexpr int kMostReferences = 16;
constexpr int kMostNesting = 16;
constexpr int kMostSchemas = 1000;  ///< that one argument's may lead to: they may refer to themselves

unsigned kind_of(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return kJsonNull;
    case ordered_json::value_t::boolean:
      return kJsonBoolean;
    case ordered_json::value_t::string:
      return kJsonText;
    case ordered_json::value_t::array:
      return kJsonArray;
    case ordered_json::value_t::object:
      return kJsonObject;
    default:
      return kJsonNumber;
  }
}

unsigned kind_named(const ordered_json& name) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 7> kNames = {{{"null", kJsonNull},
                                                                            {"boolean", kJsonBoolean},
                                                                            {"number", kJsonNumber},
                                                                            {"integer", kJsonNumber},
                                                                            {"string", kJsonText},
                                                                            {"array", kJsonArray},
                                                                            {"object", kJsonObject}}};
  for (const auto& [word, kind] : kNames)
    if (name == word) return kind;
  return kJsonAny;
}

unsigned kinds(const ordered_json& schema, const ordered_json& root, int& left, int depth) {
  if (--left < 0 || depth > kMostNesting) return kJsonAny;
  const ordered_json* const here = resolve_schema(schema, root);
  if (here == nullptr || !here->is_object()) return kJsonAny;
  unsigned allowed = kJsonAny;
  if (const auto type = here->find("type"); type != here->end()) {
    unsigned named = 0;
    if (!type->is_array())
      named = kind_named(*type);
    else
      for (const ordered_json& one : *type) named |= kind_named(one);
    allowed &= named;
  }
  if (const auto constant = here->find("const"); constant != here->end()) allowed &= kind_of(*constant);
  if (const auto list = here->find("enum"); list != here->end() && list->is_array()) {
    unsigned listed = 0;
    for (const ordered_json& value : *list) listed |= kind_of(value);
    allowed &= listed;
  }
  for (const char* const key : {"anyOf", "oneOf"}) {
    const auto choices = here->find(key);
    if (choices == here->end() || !choices->is_array()) continue;
    unsigned chosen = 0;
    for (const ordered_json& choice : *choices) chosen |= kinds(choice, root, left, depth + 1);
    allowed &= chosen;
  }
  if (const auto all = here->find("allOf"); all != here->end() && all->is_array())
    for (const ordered_json& one : *all) allowed &= kinds(one, root, left, depth + 1);
  return allowed == 0 ? kJsonAny : allowed;
}

bool is_word(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \n\t\r";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

}  // namespace

const ordered_json* resolve_schema(const ordered_json& schema, const ordered_json& root) {
  const ordered_json* here = &schema;
  for (int i = 0; i < kMostReferences; ++i) {
    if (!here->is_object()) return here;
    const auto reference = here->find("$ref");
    if (reference == here->end()) return here;
    if (!reference->is_string()) return nullptr;
    const auto& place = reference->get_ref<const std::string&>();
    if (place.empty() || place[0] != '#') return nullptr;
    try {
      const ordered_json::json_pointer pointer(place.substr(1));
      if (!root.contains(pointer)) return nullptr;
      here = &root.at(pointer);
    } catch (const ordered_json::exception&) {
      return nullptr;
    }
  }
  return nullptr;
}

unsigned kinds_of_schema(const ordered_json& schema, const ordered_json& root) {
  int left = kMostSchemas;
  return kinds(schema, root, left, 0);
}

ArgumentTypes::ArgumentTypes(const std::optional<std::string>& schema) {
  if (!schema) return;
  const ordered_json root = parse_exact_json(*schema);
  const ordered_json* const object = resolve_schema(root, root);
  if (object == nullptr || !object->is_object()) return;
  const auto properties = object->find("properties");
  if (properties == object->end() || !properties->is_object()) return;
  for (const auto& [name, property] : properties->items()) kinds_[name] = kinds_of_schema(property, root);
}

unsigned ArgumentTypes::kinds_of(std::string_view argument) const {
  const auto found = kinds_.find(argument);
  return found == kinds_.end() ? unsigned{kJsonAny} : found->second;
}

std::string json_of_raw(std::string_view raw, unsigned kinds) {
  const std::string_view value = trimmed(raw);
  if (kinds != kJsonText) {
    if ((kinds & kJsonBoolean) != 0 && is_word(value, "true")) return "true";
    if ((kinds & kJsonBoolean) != 0 && is_word(value, "false")) return "false";
    if ((kinds & kJsonNull) != 0 && (is_word(value, "null") || is_word(value, "none"))) return "null";
    const ordered_json parsed = parse_exact_json(value);
    if (!parsed.is_discarded() && (kinds & kind_of(parsed)) != 0) return std::string(value);
  }
  std::string json = "\"";
  append_json_text(json, raw);
  return json + '"';
}

void append_json_text(std::string& to, std::string_view part) {
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '\t') {
      to += "\\t";
    } else if (c == '\r') {
      to += "\\r";
    } else if (byte < 0x20) {
      to += fmt::format("\\u{:04x}", unsigned{byte});
    } else {
      to += c;
    }
  }
}

}  // namespace augur
