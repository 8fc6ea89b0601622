#pragma once
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

// Formats of a structural tag (grammar/structural_tag.h).
namespace augur::tag_formats {

using nlohmann::ordered_json;

inline ordered_json text(std::string_view value) {
  return {{"type", "const_string"}, {"value", value}};
}

inline ordered_json sequence(ordered_json elements) {
  return {{"type", "sequence"}, {"elements", std::move(elements)}};
}

inline ordered_json any_of(ordered_json elements) {
  return elements.size() == 1 ? elements[0] : ordered_json{{"type", "or"}, {"elements", std::move(elements)}};
}

/// optional, plus or star.
inline ordered_json some(const char* type, ordered_json content) {
  return {{"type", type}, {"content", std::move(content)}};
}

/// `begin` and `end`: a text or a token.
inline ordered_json tag(ordered_json begin, ordered_json content, ordered_json end) {
  return {
      {"type", "tag"}, {"begin", std::move(begin)}, {"content", std::move(content)}, {"end", std::move(end)}};
}

/// Of a request's `field`, with white space as models write it in calls.
inline ordered_json json_schema(ordered_json schema, std::string_view field) {
  return {{"type", "json_schema"},
          {"json_schema", std::move(schema)},
          {"field", field},
          {"max_whitespace_cnt", 1}};
}

}  // namespace augur::tag_formats
