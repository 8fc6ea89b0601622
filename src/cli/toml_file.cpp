#include "cli/toml_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/small_file.h"
#include "base/utf8.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace augur::cli {
namespace {

std::string value_of(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  throw Error("{}: expected a text, a number, true or false, or a list of them", where);
}

}  // namespace

std::vector<TomlKey> read_toml(const std::string& path) {
  const toml::parse_result parsed = toml::parse(read_small_file(path, "a configuration"), path);
  if (parsed.failed()) {
    throw Error("{}: line {}: {}", path, parsed.error().source().begin.line, parsed.error().description());
  }
  std::vector<TomlKey> keys;
  for (const auto& [name, node] : parsed.table()) {
    TomlKey key;
    key.name = name.str();
    const bool plain =
        std::all_of(key.name.begin(), key.name.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!plain) key.name = toml_text(key.name);  // which no flag has, and one line shows
    key.line = static_cast<int>(name.source().begin.line);
    const std::string where = fmt::format("{}: line {}: {}", path, key.line, key.name);
    if (node.is_table() || node.is_array_of_tables()) {
      throw Error("{}: expected keys without a table: there is but one command", where);
    }
    key.is_flag = node.is_boolean();
    if (const toml::array* list = node.as_array()) {
      key.is_list = true;
      for (const toml::node& one : *list) key.values.push_back(value_of(one, where));
    } else {
      key.values.push_back(value_of(node, where));
    }
    keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end(), [](const TomlKey& a, const TomlKey& b) { return a.line < b.line; });
  return keys;
}

std::string toml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : to_valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace augur::cli
