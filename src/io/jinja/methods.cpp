// Methods of strings, lists and dictionaries: Python's, as far as templates call them.
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "io/jinja/builtins.h"
#include "io/unicode.h"

namespace augur::jinja {
namespace {

constexpr std::array<std::string_view, 26> kStringMethods = {
    "split",    "rsplit",       "splitlines",   "strip",   "lstrip",     "rstrip",  "startswith",
    "endswith", "upper",        "lower",        "title",   "capitalize", "replace", "find",
    "rfind",    "index",        "count",        "join",    "isdigit",    "isalpha", "isalnum",
    "isspace",  "removeprefix", "removesuffix", "isupper", "islower"};
constexpr std::array<std::string_view, 2> kListMethods = {"index", "count"};
constexpr std::array<std::string_view, 4> kDictMethods = {"items", "keys", "values", "get"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t next_space(std::string_view text, std::size_t at, bool wanted) {
  while (at < text.size()) {
    const DecodedCharacter c = decode_utf8(text, at);
    if (strip(text.substr(at, c.length), true, false).empty() == wanted) break;
    at += c.length;
  }
  return at;
}

// split() without separator: at runs of white space.
void split_words(std::string_view text, std::int64_t limit, List& out, Arena& arena) {
  for (std::size_t at = next_space(text, 0, false); at < text.size();) {
    if (limit == 0) {
      arena.push(out, strip(text.substr(at), false, true));
      return;
    }
    const std::size_t end = next_space(text, at, true);
    arena.push(out, text.substr(at, end - at));
    at = next_space(text, end, false);
    --limit;
  }
}

void rsplit_words(std::string_view text, std::int64_t limit, List& out, Arena& arena) {
  List* all = arena.list();
  split_words(text, -1, *all, arena);
  const auto count = static_cast<std::int64_t>(all->items.size());
  const std::int64_t single = limit < 0 ? count : std::min(limit, count);
  if (count > single) {
    const auto last = std::get<std::string_view>(all->items[static_cast<std::size_t>(count - single - 1)]);
    const std::string_view rest(text.data(),
                                static_cast<std::size_t>(last.data() + last.size() - text.data()));
    arena.push(out, strip(rest, true, false));
  }
  for (std::int64_t i = count - single; i < count; ++i)
    arena.push(out, all->items[static_cast<std::size_t>(i)]);
}

Value split(std::string_view text, const CallArguments& arguments, bool from_right, Arena& arena) {
  const BoundArguments bound(from_right ? "rsplit()" : "split()", arguments, {"sep", "maxsplit"});
  std::int64_t limit = bound.integer_or(1, -1);
  List* out = arena.list();
  if (!bound.has(0) || std::holds_alternative<None>(bound[0])) {
    from_right ? rsplit_words(text, limit, *out, arena) : split_words(text, limit, *out, arena);
    return out;
  }
  const std::string_view separator = bound.text(0);
  if (separator.empty()) throw Error("split(): the separator is empty");
  if (!from_right) {
    for (std::size_t found; limit != 0 && (found = find_text(text, separator)) != std::string_view::npos;
         --limit) {
      arena.push(*out, text.substr(0, found));
      text.remove_prefix(found + separator.size());
    }
    arena.push(*out, text);
    return out;
  }
  arena.spend_steps(text.size() * separator.size() / 64);  // rfind is not linear
  for (std::size_t found; limit != 0 && (found = text.rfind(separator)) != std::string_view::npos; --limit) {
    arena.push(*out, text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  arena.push(*out, text);
  std::reverse(out->items.begin(), out->items.end());
  return out;
}

Value split_lines(std::string_view text, const CallArguments& arguments, Arena& arena) {
  const bool keep = BoundArguments("splitlines()", arguments, {"keepends"}).flag_or(0, false);
  List* out = arena.list();
  while (!text.empty()) {
    std::size_t end = std::min(text.find_first_of("\n\r\v\f\x1C\x1D\x1E"), text.size());
    // Behind the first line break nothing matters: the texts searched add up to one pass each.
    for (const std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
      end = std::min(end, text.substr(0, end + 2).find(separator));
    std::size_t next = end;
    if (end < text.size()) next += text.substr(end).starts_with("\r\n") ? 2 : decode_utf8(text, end).length;
    arena.push(*out, text.substr(0, keep ? next : end));
    arena.spend_steps(1 + next / 16);
    text.remove_prefix(next);
  }
  return out;
}

Value strip_method(std::string_view text, std::string_view name, const CallArguments& arguments,
                   Arena& arena) {
  const BoundArguments bound(name, arguments, {"chars"});
  const bool left = name != "rstrip";
  const bool right = name != "lstrip";
  if (!bound.has(0) || std::holds_alternative<None>(bound[0])) return strip(text, left, right);
  return strip(text, bound.text(0), left, right, arena);
}

bool starts_or_ends(std::string_view text, std::string_view name, const CallArguments& arguments,
                    Arena& arena) {
  const BoundArguments bound(name, arguments, {"prefix"}, 1);
  const auto matches = [&](const Value& part) {
    const auto* affix = std::get_if<std::string_view>(&part);
    if (affix == nullptr) throw Error("{}(): expected a string, found {}", name, type_name(part));
    arena.spend_steps(std::min(text.size(), affix->size()) / 64);
    return name == "startswith" ? text.starts_with(*affix) : text.ends_with(*affix);
  };
  if (is_string(bound[0])) return matches(bound[0]);
  const std::vector<Value> parts = items_of(bound[0], arena);
  return std::any_of(parts.begin(), parts.end(), matches);
}

// Python's str.title(): a letter behind no letter is large.
std::string title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_utf8(text, at).length;
    const std::string_view c = text.substr(at, length);
    out += inside ? lower(c) : upper(c);
    inside = upper(c) != lower(c);
    at += length;
  }
  return out;
}

std::int64_t occurrences(std::string_view text, std::string_view part, Arena& arena) {
  if (part.empty()) return count_characters(text) + 1;
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = find_text(text, part, at)) != std::string_view::npos; at += part.size())
    ++count;
  arena.spend_steps(static_cast<std::size_t>(count));
  return count;
}

Value find(std::string_view text, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const std::string_view part = BoundArguments(name, arguments, {"sub"}, 1).text(0);
  if (name == "rfind")
    arena.spend_steps(text.size() * std::max<std::size_t>(part.size(), 1) / 64);  // not linear
  const std::size_t found = name == "rfind" ? text.rfind(part) : find_text(text, part);
  if (found != std::string_view::npos) return count_characters(text.substr(0, found));
  if (name == "index") throw Error("index(): \"{}\" is not in the string", part);
  return std::int64_t{-1};
}

Value join(std::string_view separator, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound("join()", arguments, {"iterable"}, 1);
  std::string out;
  bool first = true;
  for (const Value& item : items_of(bound[0], arena)) {
    const auto* text = std::get_if<std::string_view>(&item);
    if (text == nullptr) throw Error("join(): expected strings, found {}", type_name(item));
    arena.spend_memory(text->size() + separator.size());
    if (!first) out += separator;
    out += *text;
    first = false;
  }
  return arena.text(std::move(out));
}

// isdigit() and its kin: true when there is a character and all are of the class.
bool all_characters(std::string_view text, bool (*is_member)(char32_t)) {
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    if (!is_member(c.code)) return false;
    at += c.length;
  }
  return !text.empty();
}

bool is_letter(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ND;
}
bool is_letter_or_number(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return is_letter(code) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

Value string_method(std::string_view text, std::string_view name, const CallArguments& arguments,
                    Arena& arena) {
  if (name == "split" || name == "rsplit") return split(text, arguments, name == "rsplit", arena);
  if (name == "splitlines") return split_lines(text, arguments, arena);
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return strip_method(text, name, arguments, arena);
  if (name == "startswith" || name == "endswith") return starts_or_ends(text, name, arguments, arena);
  if (name == "find" || name == "rfind" || name == "index") return find(text, name, arguments, arena);
  if (name == "join") return join(text, arguments, arena);
  if (name == "replace") return apply_filter("replace", text, arguments, arena);
  if (name == "count")
    return occurrences(text, BoundArguments("count()", arguments, {"sub"}, 1).text(0), arena);
  if (name == "removeprefix") {
    const std::string_view affix = BoundArguments("removeprefix()", arguments, {"prefix"}, 1).text(0);
    return text.starts_with(affix) ? text.substr(affix.size()) : text;
  }
  if (name == "removesuffix") {
    const std::string_view affix = BoundArguments("removesuffix()", arguments, {"suffix"}, 1).text(0);
    return text.ends_with(affix) ? text.substr(0, text.size() - affix.size()) : text;
  }
  BoundArguments(name, arguments, {});
  if (name == "upper") return arena.text(upper(text));
  if (name == "lower") return arena.text(lower(text));
  if (name == "title") return arena.text(title(text));
  if (name == "capitalize") return apply_filter("capitalize", text, {}, arena);
  if (name == "isdigit") return all_characters(text, is_decimal);
  if (name == "isalpha") return all_characters(text, is_letter);
  if (name == "isalnum") return all_characters(text, is_letter_or_number);
  if (name == "isspace") return !text.empty() && strip(text, true, false).empty();
  return apply_test(name == "isupper" ? "upper" : "lower", text, {}, arena);
}

Value list_method(const List& list, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound(name, arguments, {"value"}, 1);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (!equal(list.items[i], bound[0], arena)) continue;
    if (name == "index") return static_cast<std::int64_t>(i);
    ++count;
  }
  if (name == "index") throw Error("index(): the value is not in the list");
  return count;
}

Value dict_method(const Dict& dict, std::string_view name, const CallArguments& arguments, Arena& arena) {
  arena.spend_steps(dict.items.size());
  if (name == "get") {
    const BoundArguments bound("get()", arguments, {"key", "default"}, 1);
    const Value* found = dict.find(bound[0], arena);
    return found != nullptr ? *found : bound[1];
  }
  BoundArguments(name, arguments, {});
  List* out = arena.list();
  for (const auto& [key, value] : dict.items) {
    if (name == "items") {
      List* pair = arena.list(List::Kind::Tuple);
      arena.push(*pair, key);
      arena.push(*pair, value);
      arena.push(*out, pair);
    } else {
      arena.push(*out, name == "keys" ? key : value);
    }
  }
  return out;
}

}  // namespace

bool has_method(const Value& self, std::string_view name) {
  if (is_string(self)) return among(kStringMethods, name);
  if (std::holds_alternative<List*>(self)) return among(kListMethods, name);
  if (const auto* dict = std::get_if<Dict*>(&self))
    return !(*dict)->is_namespace && among(kDictMethods, name);
  return false;
}

Value call_method(const Value& self, std::string_view name, const CallArguments& arguments, Arena& arena) {
  spend_for(self, arena);
  if (const auto* text = std::get_if<std::string_view>(&self))
    return string_method(*text, name, arguments, arena);
  if (const auto* list = std::get_if<List*>(&self)) return list_method(**list, name, arguments, arena);
  return dict_method(*std::get<Dict*>(self), name, arguments, arena);
}

}  // namespace augur::jinja
