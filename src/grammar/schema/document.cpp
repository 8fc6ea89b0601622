#include "grammar/schema/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/similar_word.h"
#include "files/json_reader.h"
#include "grammar/string_formats.h"

namespace augur {
namespace {

enum class Holds { Value, One, List, Map, OneOrList, MapOfAny };
struct Keyword {
  std::string_view name;
  Holds holds;
  bool asserts = true;
};
constexpr std::array kKeywords = {
    Keyword{"$ref", Holds::Value},
    Keyword{"$recursiveRef", Holds::Value},
    Keyword{"$dynamicRef", Holds::Value},
    Keyword{"type", Holds::Value},
    Keyword{"enum", Holds::Value},
    Keyword{"const", Holds::Value},
    Keyword{"multipleOf", Holds::Value},
    Keyword{"maximum", Holds::Value},
    Keyword{"exclusiveMaximum", Holds::Value},
    Keyword{"minimum", Holds::Value},
    Keyword{"exclusiveMinimum", Holds::Value},
    Keyword{"maxLength", Holds::Value},
    Keyword{"minLength", Holds::Value},
    Keyword{"pattern", Holds::Value},
    Keyword{"format", Holds::Value},
    Keyword{"items", Holds::OneOrList},
    Keyword{"prefixItems", Holds::List},
    Keyword{"additionalItems", Holds::One},
    Keyword{"unevaluatedItems", Holds::One},
    Keyword{"contains", Holds::One},
    Keyword{"maxItems", Holds::Value},
    Keyword{"minItems", Holds::Value},
    Keyword{"uniqueItems", Holds::Value},
    Keyword{"maxContains", Holds::Value},
    Keyword{"minContains", Holds::Value},
    Keyword{"properties", Holds::Map},
    Keyword{"patternProperties", Holds::Map},
    Keyword{"additionalProperties", Holds::One},
    Keyword{"unevaluatedProperties", Holds::One},
    Keyword{"propertyNames", Holds::One},
    Keyword{"required", Holds::Value},
    Keyword{"maxProperties", Holds::Value},
    Keyword{"minProperties", Holds::Value},
    Keyword{"dependencies", Holds::MapOfAny},
    Keyword{"dependentRequired", Holds::Value},
    Keyword{"dependentSchemas", Holds::Map},
    Keyword{"allOf", Holds::List},
    Keyword{"anyOf", Holds::List},
    Keyword{"oneOf", Holds::List},
    Keyword{"not", Holds::One},
    Keyword{"if", Holds::One},
    Keyword{"then", Holds::One},
    Keyword{"else", Holds::One},
    Keyword{"$defs", Holds::Map, false},
    Keyword{"definitions", Holds::Map, false},
    Keyword{"$schema", Holds::Value, false},
    Keyword{"$id", Holds::Value, false},
    Keyword{"$anchor", Holds::Value, false},
    Keyword{"$recursiveAnchor", Holds::Value, false},
    Keyword{"$dynamicAnchor", Holds::Value, false},
    Keyword{"$vocabulary", Holds::Value, false},
    Keyword{"$comment", Holds::Value, false},
    Keyword{"title", Holds::Value, false},
    Keyword{"description", Holds::Value, false},
    Keyword{"default", Holds::Value, false},
    Keyword{"deprecated", Holds::Value, false},
    Keyword{"readOnly", Holds::Value, false},
    Keyword{"writeOnly", Holds::Value, false},
    Keyword{"examples", Holds::Value, false},
    Keyword{"contentEncoding", Holds::Value, false},
    Keyword{"contentMediaType", Holds::Value, false},
    Keyword{"contentSchema", Holds::Value, false},
};
constexpr std::size_t kMostWarnings = 16;

const Keyword* keyword(std::string_view name) {
  const auto found =
      std::find_if(kKeywords.begin(), kKeywords.end(), [&](const Keyword& one) { return one.name == name; });
  return found == kKeywords.end() ? nullptr : &*found;
}

/// The assertion that was probably meant by another word.
std::string_view meant(std::string_view word) {
  static const std::vector<std::string_view> assertions = [] {
    std::vector<std::string_view> names;
    for (const Keyword& one : kKeywords) {
      if (one.asserts) names.push_back(one.name);
    }
    return names;
  }();
  return similar_word(word, assertions);
}

std::string pointer_part(std::string_view name) {
  std::string result;
  for (const char c : name) {
    result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return result;
}

/// What a reference means at a base, without its fragment. Not all of RFC 3986: paths are not normalised.
std::string absolute(const std::string& base, std::string_view reference) {
  if (reference.empty()) return base;
  const std::size_t scheme = reference.find(':');
  if (scheme != std::string_view::npos && scheme < reference.find('/')) return std::string(reference);
  const std::size_t authority = base.find("://");
  const std::size_t path = base.find('/', authority == std::string::npos ? 0 : authority + 3);
  if (reference.starts_with('/')) return base.substr(0, path) + std::string(reference);
  const std::size_t last = base.rfind('/');
  if (last == std::string::npos || (authority != std::string::npos && last < authority + 3)) {
    return authority == std::string::npos ? std::string(reference) : base + "/" + std::string(reference);
  }
  return base.substr(0, last + 1) + std::string(reference);
}

std::string without_fragment(std::string_view uri) {
  return std::string(uri.substr(0, uri.find('#')));
}

Draft draft_of(const Json& root) {
  const auto found = root.is_object() ? root.find("$schema") : root.end();
  if (!root.is_object() || found == root.end() || !found->is_string()) return Draft::Twenty;
  const auto uri = found->get<std::string>();
  for (const auto& [name, draft] : {std::pair{"draft-03", Draft::Four}, std::pair{"draft-04", Draft::Four},
                                    std::pair{"draft-06", Draft::Six}, std::pair{"draft-07", Draft::Seven},
                                    std::pair{"2019-09", Draft::Nineteen}}) {
    if (uri.find(name) != std::string::npos) return draft;
  }
  return Draft::Twenty;
}

}  // namespace

bool asserts(std::string_view word) {
  const Keyword* const known = keyword(word);
  return known != nullptr && known->asserts;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      result += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

namespace {

/// What others of the same name may stand in for; "": `"$recursiveAnchor": true`, which has no name.
std::optional<std::string> dynamic_anchor(const Json& schema) {
  if (schema.contains("$dynamicAnchor") && schema["$dynamicAnchor"].is_string())
    return schema["$dynamicAnchor"].get<std::string>();
  if (schema.contains("$recursiveAnchor") && schema["$recursiveAnchor"] == true) return "";
  return std::nullopt;
}

}  // namespace

Document::Document(Json root) : root_(std::move(root)) {
  draft_ = draft_of(root_);
  resources_[""] = &root_;
  look_through(root_, "#", "");
  if (unnamed_ > 0) warnings_.push_back(fmt::format("and {} more of the kind", unnamed_));
}

void Document::look_through(const Json& schema, const std::string& place, const std::string& outer) {
  places_[&schema] = place;
  bases_[&schema] = outer;
  if (schema.is_boolean()) return;
  if (!schema.is_object()) throw Error("JSON schema: {} is to be an object", place);
  std::string base = outer;
  const bool only_reference = draft_ <= Draft::Seven && schema.contains("$ref") && schema["$ref"].is_string();
  for (const char* name : {"$id", "id"}) {
    if ((draft_ == Draft::Four) != (std::string_view(name) == "id")) continue;
    if (only_reference || !schema.contains(name) || !schema[name].is_string()) continue;
    const auto id = schema[name].get<std::string>();
    if (id.starts_with('#')) {
      resources_.try_emplace(base + id, &schema);
      continue;
    }
    base = absolute(base, without_fragment(id));
    resources_.try_emplace(base, &schema);
  }
  bases_[&schema] = base;
  for (const char* name : {"$anchor", "$dynamicAnchor"}) {
    if (schema.contains(name) && schema[name].is_string()) {
      resources_.try_emplace(base + "#" + schema[name].get<std::string>(), &schema);
    }
  }
  if (const std::optional<std::string> anchor = dynamic_anchor(schema)) ++dynamic_anchors_[*anchor];
  warn_of(schema, place);
  for (const auto& [key, value] : schema.items()) {
    const Keyword* const word = keyword(key);
    if (word == nullptr) continue;
    const std::string here = place + "/" + pointer_part(key);
    const auto is_schema = [](const Json& one) { return one.is_object() || one.is_boolean(); };
    if (word->holds == Holds::One || (word->holds == Holds::OneOrList && !value.is_array())) {
      look_through(value, here, base);
    } else if (word->holds == Holds::List || word->holds == Holds::OneOrList) {
      if (!value.is_array()) throw Error("JSON schema: {} is to be a list of schemas", here);
      if (value.empty() && word->holds == Holds::List) throw Error("JSON schema: {} is an empty list", here);
      for (std::size_t i = 0; i < value.size(); ++i)
        look_through(value[i], here + "/" + std::to_string(i), base);
    } else if (word->holds == Holds::Map || word->holds == Holds::MapOfAny) {
      if (!value.is_object()) throw Error("JSON schema: {} is to be an object of schemas", here);
      for (const auto& [name, inner] : value.items()) {
        if (word->holds == Holds::Map || is_schema(inner))
          look_through(inner, here + "/" + pointer_part(name), base);
      }
    }
  }
}

void Document::warn_of(const Json& schema, const std::string& place) {
  const auto warn = [&](std::string text) {
    if (warnings_.size() < kMostWarnings) {
      warnings_.push_back(std::move(text));
    } else {
      ++unnamed_;
    }
  };
  for (const auto& [key, value] : schema.items()) {
    if (keyword(key) == nullptr && !(draft_ == Draft::Four && key == "id")) {
      const std::string_view similar = meant(key);
      warn(fmt::format("{}/{} is not a keyword and is ignored{}", place, key,
                       similar.empty() ? "" : fmt::format(": did you mean {}?", similar)));
    }
    if (key == "format" && value.is_string() && !known_format(value.get<std::string>())) {
      warn(fmt::format("{}/format '{}' is not known and is ignored", place, value.get<std::string>()));
    }
  }
}

std::string Document::place(const Json* schema) const {
  const auto found = places_.find(schema);
  return found == places_.end() ? "#" : found->second;
}

bool Document::depends_on_path(const Json* target, const std::string& reference) const {
  const std::optional<std::string> anchor = target->is_object() ? dynamic_anchor(*target) : std::nullopt;
  // A pointer to a schema that has an anchor is an ordinary reference.
  return anchor && reference.ends_with("#" + *anchor) && dynamic_anchors_.at(*anchor) > 1;
}

const Json* Document::resolve(const Json* from, const std::string& reference) {
  const auto known = bases_.find(from);
  const std::string base = known == bases_.end() ? "" : known->second;
  const std::size_t hash = reference.find('#');
  const std::string uri = absolute(base, reference.substr(0, hash));
  const std::string fragment =
      hash == std::string::npos ? "" : percent_decoded(std::string_view(reference).substr(hash + 1));
  const auto fail = [&]() -> Error {
    return Error("JSON schema: {}/$ref '{}' leads to no schema of this document", place(from), reference);
  };
  if (!fragment.empty() && !fragment.starts_with('/')) {
    const auto found = resources_.find(uri + "#" + fragment);
    if (found == resources_.end()) throw fail();
    return found->second;
  }
  const auto resource = resources_.find(uri);
  if (resource == resources_.end()) throw fail();
  const Json* at = resource->second;
  for (std::size_t i = 0; i < fragment.size();) {
    const std::size_t end = std::min(fragment.find('/', i + 1), fragment.size());
    std::string part = fragment.substr(i + 1, end - i - 1);
    for (const auto& [escape, plain] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}}) {
      for (std::size_t where = part.find(escape); where != std::string::npos;
           where = part.find(escape, where + 1)) {
        part.replace(where, 2, plain);
      }
    }
    if (at->is_object() && at->contains(part)) {
      at = &(*at)[part];
    } else if (at->is_array() && !part.empty() && part.size() < 6 &&
               part.find_first_not_of("0123456789") == std::string::npos && std::stoul(part) < at->size()) {
      at = &(*at)[std::stoul(part)];
    } else {
      throw fail();
    }
    i = end;
  }
  // What no keyword holds is looked through as soon as it is referred to.
  if (!places_.contains(at)) look_through(*at, "#" + fragment, uri);
  return at;
}

}  // namespace augur
