#include "files/json_reader.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "files/mapped_file.h"

namespace augur {

namespace {

/// Deepest nesting of brackets outside strings. Exact for well-formed JSON; the parser rejects the rest.
int nesting(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) deepest = depth;
      if (deepest > kMaxJsonDepth) return deepest;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

/// With null where Python's json has written numbers that JSON has no words for, outside strings.
std::string without_infinities(std::string_view text) {
  constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      result += c;
      result += text[i + 1];
      i += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    const auto* const word = std::ranges::find_if(
        kWords, [&](std::string_view w) { return !in_string && text.substr(i).starts_with(w); });
    if (word != std::end(kWords)) {
      result += "null";
      i += word->size();
    } else {
      result += c;
      ++i;
    }
  }
  return result;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view file) {
  if (nesting(text) > kMaxJsonDepth) {
    throw Error("{}: JSON nested deeper than {} levels", file, kMaxJsonDepth);
  }
  if (text.find('\0') != std::string_view::npos) throw Error("{}: invalid JSON: a zero byte", file);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    std::string_view reason = e.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (const auto end = reason.find("] "); end != std::string_view::npos) reason.remove_prefix(end + 2);
    throw Error("{}: invalid JSON: {}", file, reason);
  }
}

nlohmann::json read_json(const std::filesystem::path& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    return parse_json(text, file.path());
  } catch (const Error&) {
    const std::string plain = without_infinities(text);
    if (plain == text) throw;
    return parse_json(plain, file.path());
  }
}

nlohmann::json read_json_object_if_exists(const std::filesystem::path& path) {
  if (!file_exists(path)) return nlohmann::json::object();
  auto document = read_json(path);
  if (!document.is_object()) {
    throw Error("{}: expected a JSON object, found {}", path.string(), document.type_name());
  }
  return document;
}

}  // namespace augur
